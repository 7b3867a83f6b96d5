// SPDX-License-Identifier: Apache-2.0
// Multicasts become messages from the sender to each receiver if no group of the network carries them.
#pragma once

#include <mpi.h>

#include <array>
#include <unordered_map>

#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "run/piece_messages.hpp"

namespace antiphon::mpi {

/// Holds a value for each piece that may be under way, for some operations. They are added before the first run.
template <class Value>
class PerPiece {
 public:
  void add(OpId op) { values_[op].fill(Value{}); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] Value& of(const Progress::Piece& piece) {
    return values_.find(piece.op)->second[static_cast<std::size_t>(piece.index % Progress::max_window)];
  }

 private:
  std::unordered_map<OpId, std::array<Value, Progress::max_window>> values_;
};

class FanOut {
 public:
  FanOut(const Schedule& schedule, int rank) : schedule_(schedule), rank_(rank) {
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
      if (schedule.ops()[id].kind == OpKind::multicast) messages_.add(id);
    }
  }

  /// Tells whether the schedule has no multicast that this rank sends.
  [[nodiscard]] bool is_empty() const { return messages_.empty(); }

  /// Starts the messages of a piece. Receivers take turns to be first, so that the pieces of one multicast keep the
  /// ports of all of them busy. Returns an MPI error code.
  int start(const Progress::Piece& piece, PieceMessages& messages) {
    const Op& op = schedule_.ops()[piece.op];
    const auto& members = schedule_.groups()[static_cast<std::size_t>(op.group)];
    int& under_way = messages_.of(piece);
    under_way = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const int member = members[(i + static_cast<std::size_t>(piece.index)) % members.size()];
      if (member == rank_) continue;
      if (const int rc = messages.send(piece, member, op.tag); rc != MPI_SUCCESS) return rc;
      ++under_way;
    }
    return MPI_SUCCESS;
  }
  /// Notes that one of the piece's messages has ended.
  void note_end(const Progress::Piece& piece) { --messages_.of(piece); }
  /// Tells whether no message of the piece is under way.
  [[nodiscard]] bool is_complete(const Progress::Piece& piece) { return messages_.of(piece) == 0; }

 private:
  const Schedule& schedule_;
  int rank_;
  PerPiece<int> messages_;  ///< under way
};

}  // namespace antiphon::mpi
