// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "multicast/core.hpp"

namespace antiphon::multicast {

/// Runs of raw packets that are not repaired; they show what gets through.
class Probing {
 public:
  explicit Probing(Core& core) : core_(core) {}

  void start(std::uint32_t run, std::uint32_t packets, int packet_bytes, std::int64_t rate_bytes_per_s);
  [[nodiscard]] bool sent() const { return unsent_.empty(); }
  /// Sends what is due. Returns true if it sent anything.
  bool send();
  void take(int sender, const Probe& probe, std::size_t packet_bytes);
  [[nodiscard]] std::vector<ProbeCount> counts(std::uint32_t run) const;

 private:
  struct Run {
    std::uint32_t run, packets, next;
    int packet_bytes;
    std::int64_t rate_bytes_per_s, started_ns;
  };
  struct Seen {
    ProbeCount count;
    std::vector<bool> which;
  };
  bool send(Run& run);

  Core& core_;
  std::vector<Run> unsent_;
  std::map<std::pair<std::uint32_t, int>, Seen> seen_;
};

}  // namespace antiphon::multicast
