// SPDX-License-Identifier: Apache-2.0
// Paper 1's protocol (section 4.1; its reference 20 compares it with others). Every receiver acknowledges every packet
// to the sender. The sender repeats, to all, the packets that some member has not acknowledged in time. The sender's
// work grows with the group.
#include <deque>

#include "multicast/core.hpp"

namespace antiphon::multicast {

namespace {

class AckStrategy final : public Reliability {
 public:
  explicit AckStrategy(Core& core)
      : core_(core), upto_(static_cast<std::size_t>(core.size), 0), answer_time_(core.options()) {}

  void data(int sender, const Data& data, InStream::Outcome outcome) override {
    InStream& stream = core_.in[static_cast<std::size_t>(sender)];
    // A refused packet is not acknowledged, but the sender hears that this member is alive.
    const bool have = outcome == InStream::Outcome::fresh || outcome == InStream::Outcome::duplicate;
    const std::uint32_t upto = wrap(stream.base());
    core_.courier.post(sender, Type::receipt, body(Receipt{have ? data.position : upto - 1, upto}));
    ++core_.statistics.acks_sent;
  }
  void changed(int) override {}
  void heartbeat(int, const Heartbeat&) override {}
  void ack(int, const Ack&) override {}
  void nack(int, const Nack&) override {}

  void receipt(int from, const Receipt& receipt) override;
  void sent() override;
  bool send_again() override;
  std::int64_t tick() override;

 private:
  /// A packet that some member has not acknowledged.
  struct Packet {
    std::int64_t first_ns, sent_ns;  ///< time of the first and of the last sending
    int attempts = 0;
    int missing;            ///< number of members that have not acknowledged it
    std::vector<bool> has;  ///< by member: whether it has acknowledged
  };
  void mark(Position position, int member);
  [[nodiscard]] Packet& at(Position position) { return under_way_[static_cast<std::size_t>(position - first_)]; }

  Core& core_;
  std::deque<Packet> under_way_;  ///< from first_ on
  Position first_ = 0;
  std::vector<Position> upto_;  ///< by member
  std::vector<Position> due_;
  RoundTrip answer_time_;
};

void AckStrategy::sent() {
  while (first_ + static_cast<Position>(under_way_.size()) < core_.out.sent()) {
    const Position position = first_ + static_cast<Position>(under_way_.size());
    under_way_.push_back({core_.now_ns, core_.now_ns, 0, core_.size - 1,
                          std::vector<bool>(static_cast<std::size_t>(core_.size), false)});
    // A receiver that wants no part of a message has received it before it is sent.
    for (int member = 0; member < core_.size; ++member) {
      if (member != core_.index && upto_[static_cast<std::size_t>(member)] > position) mark(position, member);
    }
  }
}

void AckStrategy::mark(Position position, int member) {
  if (position < first_ || position >= core_.out.sent() ||
      position - first_ >= static_cast<Position>(under_way_.size()))
    return;
  Packet& packet = at(position);
  const auto m = static_cast<std::size_t>(member);
  if (packet.has[m]) return;
  packet.has[m] = true;
  --packet.missing;
  // Karn's rule: if a packet was sent twice, an answer may belong to either, so it gives no sample. The last member to
  // answer decides how long to wait.
  if (packet.missing == 0 && packet.attempts == 0) answer_time_.sample(core_.now_ns - packet.sent_ns);
}

void AckStrategy::receipt(int from, const Receipt& receipt) {
  ++core_.statistics.acks_received;
  core_.statistics.round_trip_ns = answer_time_.smoothed_ns();
  Position& upto = upto_[static_cast<std::size_t>(from)];
  const Position told = unwrap(receipt.upto, core_.out.base());
  for (Position position = std::max(upto, first_); position < std::min(told, core_.out.sent()); ++position)
    mark(position, from);
  upto = std::max(upto, told);
  mark(unwrap(receipt.position, core_.out.base()), from);
  while (!under_way_.empty() && under_way_.front().missing == 0) {
    under_way_.pop_front();
    ++first_;
  }
  core_.out.acknowledged(first_);
}

bool AckStrategy::send_again() {
  if (due_.empty()) return false;
  std::vector<DataPacket> packets;
  for (const Position position : due_) {
    if (position >= first_ && at(position).missing > 0) packets.push_back(core_.out.again(position, -1));
  }
  due_.clear();
  const std::size_t taken = core_.courier.send(packets);
  for (std::size_t i = 0; i < taken; ++i) {
    Packet& packet = at(unwrap(packets[i].data.position, core_.out.base()));
    packet.sent_ns = core_.now_ns;
    ++packet.attempts;
    ++core_.statistics.repairs_multicast;
  }
  return taken > 0;
}

std::int64_t AckStrategy::tick() {
  std::int64_t next = never;
  due_.clear();
  for (Position position = first_; position < first_ + static_cast<Position>(under_way_.size()); ++position) {
    const Packet& packet = at(position);
    if (packet.missing == 0) continue;
    const std::int64_t due = packet.sent_ns + answer_time_.timeout_ns(packet.attempts);
    if (due > core_.now_ns) {
      next = std::min(next, due);
    } else if (due_.size() < again_at_once) {
      due_.push_back(position);
      next = core_.now_ns;
      if (packet.attempts < 8) continue;
      for (int member = 0; member < core_.size; ++member) {
        if (member != core_.index && !packet.has[static_cast<std::size_t>(member)] &&
            core_.lose_if_silent(member, packet.first_ns))
          return never;
      }
    }
  }
  return next;
}

}  // namespace

std::unique_ptr<Reliability> make_ack_strategy(Core& core) { return std::make_unique<AckStrategy>(core); }

}  // namespace antiphon::multicast
