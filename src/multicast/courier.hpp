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

/// A data packet to be sent.
struct DataPacket {
  Data data;
  std::span<const std::byte> payload;
  int to = -1;  ///< a member; −1 means all
};

/// Seals packets and hands them to the wire. Opens incoming packets, and accepts only those of this group, for this
/// member, sealed with the group's key, and not seen before.
class Courier {
 public:
  struct Opened {
    Head head;
    std::span<const std::byte> body;
  };

  Courier(Wire& wire, const Description& description, int index, Statistics& statistics);

  /// Sends data packets. Returns how many of them, from the front, the wire has taken.
  std::size_t send(std::span<const DataPacket> packets);
  /// Queues a packet of any other type.
  void post(int to, Type type, const std::vector<std::byte>& body);
  /// Hands queued packets to the wire. Returns true if none is left.
  bool flush();
  [[nodiscard]] std::size_t queued() const { return control_.size(); }

  /// Returns nothing for a packet that it drops and counts.
  std::optional<Opened> open(std::span<const std::byte> packet);

 private:
  struct Sealed {
    std::array<std::byte, head_bytes + data_bytes> head;
    std::array<std::byte, tag_bytes> tag;
  };
  struct Control {
    int to;
    std::vector<std::byte> bytes;  ///< including head and tag
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
  std::vector<Datagram> datagrams_;
};

}  // namespace antiphon::multicast
