// SPDX-License-Identifier: Apache-2.0
#include "run/group_multicasts.hpp"

#include <memory>
#include <string>

#include "call/greatest_tag.hpp"
#include "compress/cost.hpp"
#include "job/progress.hpp"
#include "job/warn.hpp"
#include "run/library_progress.hpp"

namespace antiphon::mpi {

void use_groups(Executor& executor, MulticastGroups& groups, int senders) {
  if (executor.schedule().groups().empty()) return;
  executor.use_carrier(std::make_unique<GroupMulticasts>(executor.parts(), groups, senders));
}

GroupMulticasts::GroupMulticasts(const Executor::Parts& parts, MulticastGroups& groups, int senders)
    : parts_(parts), tags_(own_tags(parts.messages.comm())), lanes_(parts.schedule, parts.rank, groups, senders) {
  for (OpId id = 0; id < parts_.schedule.ops().size(); ++id) {
    if (parts_.schedule.ops()[id].group >= 0) under_way_.add(id);
  }
}

void GroupMulticasts::begin() {
  lanes_.begin();
  for (auto& [op, next] : next_to_relay_) {
    next = 0;
    under_way_.add(op);
  }
}

int GroupMulticasts::sender_of(const Piece& piece) const {
  const Op& op = parts_.schedule.ops()[piece.op];
  return op.kind == OpKind::multicast ? parts_.rank : op.peer;
}

int GroupMulticasts::start(const Piece& piece) {
  const MulticastPart part = lanes_.part(piece.op);
  const int sender = sender_of(piece);
  under_way_.of(piece) = {.steps = 1, .follower_sends = part == MulticastPart::relay};
  switch (part) {
    case MulticastPart::hand_in: return parts_.messages.send(piece, lanes_.roles(piece.op).leader, tag_of(sender));
    case MulticastPart::take: return parts_.messages.receive(piece, lanes_.roles(piece.op).leader, tag_of(sender));
    case MulticastPart::relay: return parts_.messages.receive(piece, sender, tag_of(sender));
    case MulticastPart::send: hand_to_group(piece); return pass_on(piece);
    case MulticastPart::receive: hand_to_group(piece); return MPI_SUCCESS;
    case MulticastPart::fan_out: break;
  }
  return MPI_ERR_INTERN;
}

void GroupMulticasts::hand_to_group(const Piece& piece) {
  const std::int64_t bytes = parts_.schedule.ops()[piece.op].piece_size(piece.index);
  lanes_.ready(piece, {parts_.messages.memory_of(piece), static_cast<std::size_t>(bytes)});
}

/// Passes the piece on to all followers except its sender.
int GroupMulticasts::pass_on(const Piece& piece) {
  const int sender = sender_of(piece);
  int& steps = under_way_.of(piece).steps;
  for (const int follower : lanes_.roles(piece.op).followers) {
    if (follower == sender) continue;
    if (const int rc = parts_.messages.send(piece, follower, tag_of(sender)); rc != MPI_SUCCESS) return rc;
    ++steps;
  }
  return MPI_SUCCESS;
}

/// Passes a follower's piece on. Messages of one sender have one tag, and the library may tell later ones first.
int GroupMulticasts::relay(const Piece& piece) {
  under_way_.of(piece).waits = true;
  std::int64_t& next = next_to_relay_[piece.op];
  for (Piece first{piece.op, next}; under_way_.of(first).waits; first.index = ++next) {
    under_way_.of(first) = {.steps = 1};
    hand_to_group(first);
    if (const int rc = pass_on(first); rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int GroupMulticasts::finish_message(const Piece& piece) {
  UnderWay& under_way = under_way_.of(piece);
  if (under_way.follower_sends) return relay(piece);
  if (--under_way.steps == 0) parts_.progress.complete(piece);
  return MPI_SUCCESS;
}

int GroupMulticasts::go_on(Waiting& waiting, bool& moved) {
  const bool messages = parts_.messages.active() > 0;
  const std::int64_t patience_ns = messages ? waiting.look_beside_messages() : waiting.look_for_packets(crowding());
  if (!lanes_.poll(patience_ns)) return note_silence(waiting, patience_ns);
  Piece piece;
  while (lanes_.next(piece)) {
    moved = true;
    if (lanes_.part(piece.op) == MulticastPart::receive) {
      if (const int rc = pass_on(piece); rc != MPI_SUCCESS) return rc;
    }
    if (const int rc = finish_message(piece); rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

/// Notes that nothing arrived in this look, which slept for `slept_ns`.
int GroupMulticasts::note_silence(Waiting& waiting, std::int64_t slept_ns) {
  if (const std::string failure = lanes_.failure(); !failure.empty()) {
    warn("multicast: " + failure);
    return MPI_ERR_OTHER;
  }
  waiting.note_sleep_in_vain(slept_ns);
  return slept_ns > 0 && library_is_needed(waiting) ? move_library_on(parts_.messages.comm()) : MPI_SUCCESS;
}

/// Tells whether the library may hold a message of this rank that the awaited rank waits for. If no message was seen, a
/// look is worth its time only when no member can be lost: the transport finds a lost one and names it.
bool GroupMulticasts::library_is_needed(const Waiting& waiting) const {
  return messages_noted() || waiting.slept_in_vain_ns() > 2 * lanes_.lost_after_ns();
}

}  // namespace antiphon::mpi
