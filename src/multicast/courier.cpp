// SPDX-License-Identifier: Apache-2.0
#include "multicast/courier.hpp"

#include "multicast/bytes.hpp"

namespace antiphon::multicast {

namespace {

/// The oldest control packet beyond this many is dropped, because control packets are repeated when they are needed.
constexpr std::size_t most_control = 4096;

}  // namespace

Courier::Courier(Wire& wire, const Description& description, int index, Statistics& statistics)
    : wire_(wire), seal_(description.key), session_(description.session), index_(static_cast<std::uint16_t>(index)),
      statistics_(statistics), members_(description.members.size()) {}

Head Courier::head_for(Type type, int to) {
  Head head{type, index_, to < 0 ? to_all : static_cast<std::uint16_t>(to), session_, 0};
  head.counter = to < 0 ? ++multicast_counter_ : ++unicast_counter_;
  return head;
}

std::size_t Courier::send(std::span<const DataPacket> packets) {
  if (!flush()) return 0;
  sealed_.resize(packets.size());
  datagrams_.clear();
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const DataPacket& packet = packets[i];
    Sealed& sealed = sealed_[i];
    put_head(sealed.head.data(), head_for(Type::data, packet.to));
    put_data(sealed.head.data() + head_bytes, packet.data);
    put(sealed.tag.data(), seal_.tag(sealed.head, packet.payload));
    datagrams_.push_back({packet.to, sealed.head, packet.payload, sealed.tag});
  }
  const std::size_t taken = wire_.send(datagrams_);
  for (std::size_t i = 0; i < taken; ++i) statistics_.bytes_sent += datagrams_[i].bytes();
  statistics_.packets_sent += taken;
  // Reuse the counters of packets that the wire did not take: gaps would make the replay window forget packets in
  // transit.
  for (std::size_t i = taken; i < packets.size(); ++i) --(packets[i].to < 0 ? multicast_counter_ : unicast_counter_);
  return taken;
}

void Courier::post(int to, Type type, const std::vector<std::byte>& body) {
  Control control{to, std::vector<std::byte>(head_bytes + body.size() + tag_bytes)};
  put_head(control.bytes.data(), head_for(type, to));
  std::copy(body.begin(), body.end(), control.bytes.begin() + head_bytes);
  const std::span<const std::byte> before(control.bytes.data(), head_bytes + body.size());
  put(control.bytes.data() + before.size(), seal_.tag(before, {}));
  if (control_.size() >= most_control) control_.pop_front();
  control_.push_back(std::move(control));
}

bool Courier::flush() {
  while (!control_.empty()) {
    datagrams_.clear();
    for (const Control& control : control_) {
      datagrams_.push_back({control.to, control.bytes, {}, {}});
      if (datagrams_.size() == 64) break;
    }
    const std::size_t taken = wire_.send(datagrams_);
    for (std::size_t i = 0; i < taken; ++i) {
      statistics_.bytes_sent += control_.front().bytes.size();
      control_.pop_front();
    }
    statistics_.packets_sent += taken;
    if (taken < datagrams_.size()) return false;
  }
  return true;
}

std::optional<Courier::Opened> Courier::open(std::span<const std::byte> packet) {
  const auto head = parse_head(packet);
  if (!head || head->session != session_ || head->from >= members_.size() ||
      (head->to != to_all && head->to != index_)) {
    ++statistics_.foreign;
    return std::nullopt;
  }
  if (head->from == index_)
    return std::nullopt;  // this member's own packet, which a group joined on the same host brings back
  if (seal_.tag(packet.first(packet.size() - tag_bytes), {}) != tag_of(packet)) {
    ++statistics_.forged;
    return std::nullopt;
  }
  Member& member = members_[head->from];
  if (!(head->to == to_all ? member.multicast : member.unicast).take(head->counter)) {
    ++statistics_.replayed;
    return std::nullopt;
  }
  ++statistics_.packets_received;
  statistics_.bytes_received += packet.size();
  return Opened{*head, body_of(packet)};
}

}  // namespace antiphon::multicast
