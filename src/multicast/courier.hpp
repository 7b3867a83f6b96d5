// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "antiphon/multicast.hpp"
#include "multicast/packet.hpp"
#include "multicast/seal.hpp"
#include "multicast/wire.hpp"

namespace antiphon::multicast {

/// A data packet on its way out.
struct DataPacket {
  Data data;
  std::span<const std::byte> payload;
  int to = -1;  ///< a member, or −1: all
};

/// Seals packets and hands them to the wire; opens what comes in, and lets through only what is of this group, for this
/// member, sealed with the group's key, and here for the first time.
class Courier {
 public:
  struct Opened {
    Head head;
    std::span<const std::byte> body;
  };

  Courier(Wire& wire, const Description& description, int index, Statistics& statistics);

  /// Sends data packets; how many, from the front, the wire has taken.
  std::size_t send(std::span<const DataPacket> packets);
  /// Queues any other packet.
  void post(int to, Type type, const std::vector<std::byte>& body);
  /// Hands queued packets to the wire. True if none is left.
  bool flush();
  [[nodiscard]] std::size_t queued() const { return control_.size(); }

  /// Nothing: dropped, and counted.
  std::optional<Opened> open(std::span<const std::byte> packet);

 private:
  struct Sealed {
    std::array<std::byte, head_bytes + data_bytes> head;
    std::array<std::byte, tag_bytes> tag;
  };
  struct Control {
    int to;
    std::vector<std::byte> bytes;  ///< with head and tag
  };
  struct Member {
    ReplayWindow multicast, unicast;
  };
  Head head_for(Type type, int to);

  Wire& wire_;
  Seal seal_;
  std::uint64_t session_;
  std::uint16_t index_;
  Statistics& statistics_;
  std::vector<Member> members_;
  std::uint64_t multicast_counter_ = 0, unicast_counter_ = 0;
  std::deque<Control> control_;
  std::vector<Sealed> sealed_;
  std::vector<Outgoing> outgoing_;
};

}  // namespace antiphon::multicast
