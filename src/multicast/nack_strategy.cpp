// SPDX-License-Identifier: Apache-2.0
// Receivers find what they miss and ask the sender for it. Acknowledgements are gathered along a tree and only move the
// sender's window on, so the sender hears from `tree_arity` members, however large the group is.
#include "multicast/nack_receiver.hpp"
#include "multicast/nack_sender.hpp"

namespace antiphon::multicast {

namespace {

class NackStrategy final : public Reliability {
 public:
  explicit NackStrategy(Core& core) : core_(core), receiver_(core), sender_(core, receiver_.repair_time()) {}

  void data(int sender, const Data& data, InStream::Outcome) override { receiver_.data(sender, data); }
  void changed(int sender) override { receiver_.activate(sender); }
  void heartbeat(int sender, const Heartbeat& heartbeat) override { receiver_.heartbeat(sender, heartbeat); }

  void ack(int from, const Ack& ack) override {
    ++core_.statistics.acks_received;
    sender_.echo(ack.echo);
    for (const Ack::Entry& entry : ack.entries) {
      if (entry.sender >= core_.size) continue;
      if (entry.sender != core_.index) {
        receiver_.subtree_ack(entry.sender, from, entry.upto);
      } else if ((ack.flags & Ack::direct) != 0) {
        sender_.member_ack(from, entry.upto);
      } else {
        sender_.subtree_ack(from, entry.upto);
      }
    }
  }

  void nack(int from, const Nack& nack) override {
    ++core_.statistics.nacks_received;
    sender_.nack(from, nack);
  }

  void receipt(int, const Receipt&) override {}
  void sent() override { sender_.sent(); }
  bool send_again() override { return sender_.send_again(); }

  std::int64_t tick() override {
    const std::int64_t receiver_due = receiver_.tick();
    return std::min(receiver_due, sender_.tick());
  }

 private:
  Core& core_;
  NackReceiver receiver_;
  NackSender sender_;
};

}  // namespace

std::unique_ptr<Reliability> make_nack_strategy(Core& core) { return std::make_unique<NackStrategy>(core); }

}  // namespace antiphon::multicast
