// SPDX-License-Identifier: Apache-2.0
// Pieces of a schedule's operations travel as MPI point-to-point messages, or through the memory that ranks of a node
// share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "run/node_memory.hpp"
#include "run/node_transfers.hpp"
#include "run/requests.hpp"
#include "run/runner.hpp"

namespace antiphon::mpi {

class PieceMessages {
 public:
  using Piece = Progress::Piece;

  struct Terms {
    int tag_base = 0;  ///< is added to all tags
    int rank = 0;
    const std::vector<int>* node_of_rank = nullptr;  ///< if messages within the node are counted
  };
  /// Keeps a reference to the schedule, which must outlive it.
  PieceMessages(const Schedule& schedule, MPI_Comm comm, const Terms& terms);

  /// Reserves room for this many messages at a time.
  void reserve(std::size_t messages) { requests_.reserve(messages, encoded_ || in_pieces_); }
  /// Adds this to all tags from now on.
  void use_tags(int tag_base) { tag_base_ = tag_base; }
  /// Sends pieces through this memory from now on, where it reaches; null: as the library's messages. All ranks of the
  /// node do so alike.
  void use_node_memory(NodeMemory* memory) {
    memory_ = memory;
    transfers_.use(memory == nullptr ? nullptr : &memory->messenger());
  }
  void begin(const Binding& binding) {
    binding_ = &binding;
    // Of a run that has failed, some may be under way.
    requests_.forget_all();
    transfers_.forget_all();
    looks_in_vain_ = 0;
  }

  /// Returns an MPI error code, as all functions that follow do.
  int send(const Piece& piece, int peer, int tag) { return post(piece, peer, tag, true); }
  int receive(const Piece& piece, int peer, int tag) { return post(piece, peer, tag, false); }
  int test();
  /// Tells whether test() asks the library.
  [[nodiscard]] bool any_in_library() const { return requests_.active() > 0; }
  /// Waits in the library, while nothing else is under way.
  int wait_for_all() { return requests_.wait_for_all(); }
  [[nodiscard]] bool only_in_library() const { return transfers_.active() == 0; }
  /// Calls finish(piece) for each message that has ended.
  template <class Finish>
  int retire(Finish&& finish) {
    note_frame_lengths();
    if (const int rc = look_for_short_pieces(); rc != MPI_SUCCESS) return rc;
    const int rc = requests_.retire([&](const Message& message) { return finish(message.piece); });
    return rc == MPI_SUCCESS ? transfers_.retire(finish) : rc;
  }

  [[nodiscard]] bool any_ended() const { return requests_.any_ended() || transfers_.any_ended(); }
  [[nodiscard]] std::size_t active() const { return requests_.active() + transfers_.active(); }
  /// Returns where the piece's operation reads or, if it receives, writes.
  [[nodiscard]] std::byte* memory_of(const Piece& piece) const;
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

 private:
  /// A leader of multicasts sends pieces on that it has received.
  struct Message {
    Piece piece;
    bool sends = false;
  };

  int post(const Piece& piece, int peer, int tag, bool sends);
  int post_to_library(const Piece& piece, int peer, int tag, bool sends);
  [[nodiscard]] bool is_near(int peer) const;
  [[nodiscard]] bool uses_memory(const Op& op, int peer) const;
  int note_look_in_vain();
  void note_frame_lengths();
  int look_for_short_pieces();

  const Schedule& schedule_;
  MPI_Comm comm_;
  int tag_base_;
  int rank_;
  const std::vector<int>* node_of_rank_;
  bool encoded_;    ///< some messages carry encoded data
  bool in_pieces_;  ///< something is received in several pieces
  const Binding* binding_ = nullptr;
  Requests<Message> requests_;
  NodeMemory* memory_ = nullptr;
  NodeTransfers<Piece> transfers_;  ///< through the memory
  unsigned looks_in_vain_ = 0;      ///< at transfers, since anything moved
  double silent_since_s_ = 0;       ///< when lost ranks were looked for, or later
};

}  // namespace antiphon::mpi
