// SPDX-License-Identifier: Apache-2.0
#include "run/piece_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "antiphon/slot.hpp"
#include "call/long_type.hpp"
#include "job/clock.hpp"
#include "job/error_text.hpp"
#include "job/progress.hpp"
#include "run/library_progress.hpp"

namespace antiphon::mpi {

namespace {

/// While only transfers through memory are under way, one of so many looks in vain lets the library advance.
constexpr unsigned looks_per_library_call = 16;
/// One of so many looks at the clock, and lost ranks are looked for after so long a silence.
constexpr unsigned looks_per_clock = 1024;
constexpr double silence_s = 1;

bool any_encoded(const Schedule& schedule) {
  const auto ops = schedule.ops();
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.encoded; });
}

bool is_received_in_pieces(const Op& op) { return op.kind == OpKind::recv && !op.encoded && op.pieces() > 1; }

bool any_in_pieces(const Schedule& schedule) {
  const auto ops = schedule.ops();
  return std::any_of(ops.begin(), ops.end(), is_received_in_pieces);
}

}  // namespace

PieceMessages::PieceMessages(const Schedule& schedule, MPI_Comm comm, const Terms& terms)
    : schedule_(schedule), comm_(comm), tag_base_(terms.tag_base), rank_(terms.rank), node_of_rank_(terms.node_of_rank),
      encoded_(any_encoded(schedule)), in_pieces_(any_in_pieces(schedule)) {}

std::byte* PieceMessages::memory_of(const Piece& piece) const {
  const Op& op = schedule_.ops()[piece.op];
  return binding_->address(op.kind == OpKind::recv ? op.to_piece(piece.index) : op.from_piece(piece.index));
}

bool PieceMessages::is_near(int peer) const {
  if (node_of_rank_ == nullptr) return false;
  const std::vector<int>& nodes = *node_of_rank_;
  return nodes[static_cast<std::size_t>(peer)] == nodes[static_cast<std::size_t>(rank_)];
}

/// Tells whether the piece moves through the node's memory; the same on both sides. Elements with gaps between them and
/// frames, whose lengths only their sender knows, are messages of the library.
bool PieceMessages::uses_memory(const Op& op, int peer) const {
  return memory_ != nullptr && memory_->index_of(peer) >= 0 && !op.encoded && !binding_->has_gaps();
}

int PieceMessages::post(const Piece& piece, int peer, int tag, bool sends) {
  const Op& op = schedule_.ops()[piece.op];
  if (!uses_memory(op, peer)) return post_to_library(piece, peer, tag, sends);
  const std::int64_t bytes = op.piece_size(piece.index);
  if (sends) node_traffic.shared.note(bytes);
  transfers_.start(piece, sends, memory_->index_of(peer), tag_base_ + tag, memory_of(piece),
                   static_cast<std::size_t>(bytes));
  return MPI_SUCCESS;
}

int PieceMessages::post_to_library(const Piece& piece, int peer, int tag, bool sends) {
  const Op& op = schedule_.ops()[piece.op];
  std::byte* at = memory_of(piece);
  std::int64_t count = op.piece_size(piece.index) / binding_->size_bytes;
  MPI_Datatype unit = binding_->type;
  if (op.encoded) {
    // A message is as long as its frame; a receive has room for the longest one.
    unit = MPI_BYTE;
    count = sends ? slot::frame_length(at) : op.piece_size(piece.index) - slot::length_bytes;
    at += slot::length_bytes;
  }
  if (sends) note_messages();
  if (sends && is_near(peer)) node_traffic.library.note(op.piece_size(piece.index));
  const auto post_as = [&](int n, MPI_Datatype type) {
    return sends ? PMPI_Isend(at, n, type, peer, tag_base_ + tag, comm_, requests_.next())
                 : PMPI_Irecv(at, n, type, peer, tag_base_ + tag, comm_, requests_.next());
  };
  const int rc = count <= std::numeric_limits<int>::max() ? post_as(static_cast<int>(count), unit)
                                                          : post_as(1, LongType(count, unit).get());
  if (rc == MPI_SUCCESS) requests_.add({piece, sends});
  return rc;
}

int PieceMessages::test() {
  transfers_.look();
  if (const int rc = requests_.test(); rc != MPI_SUCCESS) return rc;
  if (transfers_.active() == 0) return MPI_SUCCESS;
  if (transfers_.failed()) return memory_->error_of_loss();
  if (any_ended()) {
    looks_in_vain_ = 0;
    return MPI_SUCCESS;
  }
  return note_look_in_vain();
}

/// Ranks that wait for others of their node still let messages between nodes advance, and notice when one of them is
/// gone.
int PieceMessages::note_look_in_vain() {
  ++looks_in_vain_;
  if (looks_in_vain_ % looks_per_clock == 0) {
    const double now = now_s();
    if (looks_in_vain_ == looks_per_clock) silent_since_s_ = now;
    if (now - silent_since_s_ > silence_s) {
      transfers_.look_for_lost_ranks();
      silent_since_s_ = now;
    }
  }
  const bool asks_library = requests_.active() == 0 && looks_in_vain_ % looks_per_library_call == 0;
  return asks_library ? move_library_on(comm_) : MPI_SUCCESS;
}

/// Notes the length of each received frame in its slot, where operations that pass it on or decode it find it.
void PieceMessages::note_frame_lengths() {
  requests_.each_status([this](const Message& message, const MPI_Status& status) {
    if (message.sends || !schedule_.ops()[message.piece.op].encoded) return;
    int received_bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &received_bytes);
    slot::set_frame_length(memory_of(message.piece), received_bytes);
  });
}

/// Finds a message that is shorter than its piece. The sender has counted fewer bytes then, and the pieces behind this
/// one never come.
int PieceMessages::look_for_short_pieces() {
  int rc = MPI_SUCCESS;
  if (!in_pieces_) return rc;
  requests_.each_status([&](const Message& message, const MPI_Status& status) {
    const Op& op = schedule_.ops()[message.piece.op];
    if (rc != MPI_SUCCESS || !is_received_in_pieces(op) || message.piece.index + 1 == op.pieces()) return;
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    // Grants are shorter than an element, and come as empty messages.
    const std::int64_t expected = op.piece_size(message.piece.index) / binding_->size_bytes * binding_->size_bytes;
    if (bytes >= expected) return;
    requests_.cancel_receives([&](const Message& other) { return other.piece.op == message.piece.op; });
    rc = error_of_counts("rank " + std::to_string(op.peer) + " sent a message of " + std::to_string(bytes) +
                         " bytes, one of " + std::to_string(expected) + " was expected");
  });
  return rc;
}

}  // namespace antiphon::mpi
