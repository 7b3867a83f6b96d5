// SPDX-License-Identifier: Apache-2.0
// Multicasts over the network's groups: one member of each node, its leader, speaks with the group. The other members
// on the node are its followers: they hand in what they send and take what the node receives.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <unordered_map>

#include "call/own_tags.hpp"
#include "multicast/lanes.hpp"
#include "run/executor.hpp"
#include "run/fan_out.hpp"
#include "run/multicast_carrier.hpp"

namespace antiphon::mpi {

/// Makes the executor's multicasts use this communicator's groups, where they can be opened; `senders` ranks send at a
/// time. The schedule must not run at the same time as another of its communicator that multicasts.
void use_groups(Executor& executor, MulticastGroups& groups, int senders);

class GroupMulticasts final : public MulticastCarrier {
 public:
  using Piece = Progress::Piece;

  GroupMulticasts(const Executor::Parts& parts, MulticastGroups& groups, int senders);

  void begin() override;
  void end() override { lanes_.end(); }
  [[nodiscard]] bool carries(OpId op) const override { return lanes_.part(op) != MulticastPart::fan_out; }
  int start(const Piece& piece) override;
  int finish_message(const Piece& piece) override;
  [[nodiscard]] bool busy() const override { return lanes_.busy(); }
  int go_on(Waiting& waiting, bool& moved) override;
  [[nodiscard]] std::size_t most_messages() const override { return lanes_.most_messages(); }
  [[nodiscard]] const std::string* why_not() const override { return lanes_.why_not(); }

 private:
  /// Counts what is under way of a piece.
  struct UnderWay {
    int steps = 0;                ///< messages, and one for the group
    bool follower_sends = false;  ///< a relay's only step is the message from the follower that sends the data
    bool waits = false;           ///< that message is here, and earlier ones of its sender are not
  };

  [[nodiscard]] int sender_of(const Piece& piece) const;
  [[nodiscard]] int tag_of(int sender) const { return tags_.of_sender(sender); }
  int pass_on(const Piece& piece);
  int relay(const Piece& piece);
  void hand_to_group(const Piece& piece);
  int note_silence(Waiting& waiting, std::int64_t slept_ns);
  [[nodiscard]] bool library_is_needed(const Waiting& waiting) const;

  Executor::Parts parts_;
  OwnTags tags_;
  MulticastLanes lanes_;
  PerPiece<UnderWay> under_way_;
  std::unordered_map<OpId, std::int64_t> next_to_relay_;  ///< pieces of each operation
};

}  // namespace antiphon::mpi
