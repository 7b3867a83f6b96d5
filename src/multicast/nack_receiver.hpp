// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "multicast/core.hpp"
#include "multicast/tree.hpp"

namespace antiphon::multicast {

/// The receiver's side of the NACK strategy: asks senders for missing packets, and passes acknowledgements up the tree.
class NackReceiver {
 public:
  explicit NackReceiver(Core& core);

  void data(int sender, const Data& data);
  void heartbeat(int sender, const Heartbeat& heartbeat);
  /// Notes that the subtree of `child`, in the tree of `sender`, has all packets below `upto`.
  void subtree_ack(int sender, int child, std::uint32_t upto);
  /// Makes tick() look after `sender`; this member itself is ignored.
  void activate(int sender);
  /// Does what is due. Returns the latest time at which it must be called again.
  std::int64_t tick();

  [[nodiscard]] const RoundTrip& repair_time() const { return repair_time_; }

 private:
  /// A question for the packets that were missing below `upto`; the packets below the question before are not part of
  /// it.
  struct Asked {
    Position upto;
    std::int64_t first_ns, at_ns;
    int attempts;
  };
  struct Sender {
    int parent = -1;
    std::vector<Child> children;
    bool active = false;
    Position reported = 0;
    std::deque<Position> ack_wanted;  ///< ascending: positions that the sender wants this subtree to acknowledge
    bool answer_now = false;
    std::uint32_t echo = 0;
    std::int64_t ask_at = never;  ///< when to ask for packets newly found missing
    std::deque<Asked> asked;      ///< open questions, oldest first; their runs of packets are adjacent
    [[nodiscard]] Position asked_upto(Position base) const {
      return asked.empty() ? base : std::max(base, asked.back().upto);
    }
  };

  InStream& in(int sender) { return core_.in[static_cast<std::size_t>(sender)]; }
  Sender& state(int sender) { return senders_[static_cast<std::size_t>(sender)]; }
  void acknowledge(int sender);
  std::int64_t look_for_gaps(int sender);
  void ask_for_new(int sender, Position limit);
  std::int64_t ask_again(int sender);
  void ask(int sender, const std::vector<InStream::Range>& ranges);
  void settle(int sender);
  [[nodiscard]] std::int64_t backoff();

  Core& core_;
  std::vector<Sender> senders_;
  std::vector<int> active_;
  RoundTrip repair_time_;
};

}  // namespace antiphon::multicast
