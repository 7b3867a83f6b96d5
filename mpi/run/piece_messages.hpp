// SPDX-License-Identifier: Apache-2.0
// Pieces of a schedule's operations travel as MPI point-to-point messages.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "run/requests.hpp"
#include "run/runner.hpp"

namespace antiphon::mpi {

class PieceMessages {
 public:
  using Piece = Progress::Piece;

  /// Keeps a reference to the schedule, which must outlive it. `tag_base` is added to all tags.
  PieceMessages(const Schedule& schedule, MPI_Comm comm, int tag_base);

  /// Reserves room for this many messages at a time.
  void reserve(std::size_t messages) { requests_.reserve(messages, encoded_); }
  /// Adds this to all tags from now on.
  void use_tags(int tag_base) { tag_base_ = tag_base; }
  void begin(const Binding& binding) {
    binding_ = &binding;
    requests_.forget_all();
  }

  /// Returns an MPI error code, as all functions that follow do.
  int send(const Piece& piece, int peer, int tag) { return post(piece, peer, tag, true); }
  int receive(const Piece& piece, int peer, int tag) { return post(piece, peer, tag, false); }
  int test() { return requests_.test(); }
  int wait_for_all() { return requests_.wait_for_all(); }
  /// Calls finish(piece) for each message that has ended.
  template <class Finish>
  int retire(Finish&& finish) {
    note_frame_lengths();
    return requests_.retire([&](const Message& message) { return finish(message.piece); });
  }

  [[nodiscard]] bool any_ended() const { return requests_.any_ended(); }
  [[nodiscard]] std::size_t active() const { return requests_.active(); }
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
  void note_frame_lengths();

  const Schedule& schedule_;
  MPI_Comm comm_;
  int tag_base_;
  bool encoded_;  ///< some messages carry encoded data
  const Binding* binding_ = nullptr;
  Requests<Message> requests_;
};

}  // namespace antiphon::mpi
