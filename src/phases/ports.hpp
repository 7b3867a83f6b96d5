// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/phases.hpp"

namespace antiphon {

/// The links of a fabric as numbered resources: what each message needs, and how many bytes each must carry.
class Ports {
 public:
  Ports(const Fabric& fabric, int ranks);

  /// A node's link in each direction, and a switch's uplink in each; −1: not needed.
  struct Use {
    int out = -1, in = -1, up = -1, down = -1;
  };
  [[nodiscard]] Use of(int from, int to) const;
  /// Messages within a node use no link.
  [[nodiscard]] bool local(int from, int to) const { return fabric_.node(from) == fabric_.node(to); }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int switches() const { return switches_; }
  /// How many full links an uplink carries at a time, at least 1; 0: no limit.
  [[nodiscard]] int uplink_messages() const { return uplink_messages_; }
  [[nodiscard]] double seconds_per_byte() const { return 1 / fabric_.link_bytes_per_s; }
  [[nodiscard]] double uplink_seconds_per_byte() const {
    return uplink_messages_ == 0 ? 0 : 1 / fabric_.uplink_bytes_per_s;
  }

 private:
  const Fabric& fabric_;
  int nodes_ = 0;
  int switches_ = 1;
  int uplink_messages_ = 0;
};

/// The bytes over every link.
struct Loads {
  std::vector<std::int64_t> out, in, up, down;
  Loads(const Ports& ports, const Pattern& pattern);
  [[nodiscard]] std::int64_t most_node_bytes() const;
  [[nodiscard]] std::int64_t most_uplink_bytes() const;
};

/// The messages by falling size, equal ones in the pattern's order.
std::vector<PatternMessage> largest_first(const Pattern& pattern);

/// The messages shorter than `small_bytes`, and those within a node, as one `together` phase; the others in
/// `long_ones`.
PhaseOfParts split_off_small(const Pattern& pattern, const Ports& ports, std::int64_t small_bytes,
                             std::vector<PatternMessage>& long_ones);

}  // namespace antiphon
