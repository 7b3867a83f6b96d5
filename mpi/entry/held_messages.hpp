// SPDX-License-Identifier: Apache-2.0
// Messages that a rank has to send and that do not go yet. They go one after the other while the program waits for them
// (docs/concepts/messages-in-turn.md).
#pragma once

#include <mpi.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "call/own_type.hpp"
#include "compress/outgoing.hpp"
#include "entry/operations.hpp"
#include "entry/program_request.hpp"
#include "observe/watch.hpp"

namespace antiphon::mpi {

/// All functions need the operations' Lock; those of Operation are called with it.
class HeldMessages final : public Operation {
 public:
  /// How far a receiver is from this rank: by nodes first, so that the ranks of a node send to the same node.
  struct Distance {
    int nodes = 0;
    int ranks = 0;
    auto operator<=>(const Distance&) const = default;
  };

  /// It deletes itself once all are sent; `last` is null from then on if it was this.
  HeldMessages(double bytes_per_s, HeldMessages*& last) : bytes_per_s_(bytes_per_s), last_(last) {}

  /// Takes over an MPI_Isend, and makes its request. Returns an MPI error code; after an error nothing is held.
  int hold(const P2pCall& call, std::int64_t bytes, Distance distance);
  /// Sends them from now on: in the order of their distances if `rotates`, and as fast as the link takes them if
  /// `paced`, else at once. Without `waits`, some may have to start later: where the library makes progress.
  void release(bool rotates, bool paced, bool waits = true);
  [[nodiscard]] bool released() const { return released_; }
  /// Tells whether all have been handed to the library, so that later ones cannot overtake them.
  [[nodiscard]] bool all_started() const { return next_ == messages_.size(); }
  /// The program has just made another call of messages.
  void see_call() { looks_ = 0; }
  /// Tells whether the request is that of one of them.
  [[nodiscard]] bool has(MPI_Request request) const;
  /// Tells whether the program waited in a call that was not seen.
  [[nodiscard]] bool was_interrupted() const { return interrupted_; }

  bool advance() override;
  void complete() override;

 private:
  struct Message {
    SendArguments arguments;
    OwnType type;
    std::int64_t bytes;
    Distance distance;
    ProgramRequest request;
    MPI_Request program;                  ///< a copy of the program's handle
    Parcel parcel;                        ///< if it travels as a frame
    MPI_Request sent = MPI_REQUEST_NULL;  ///< the library's
  };

  void start_next(bool waits);

  double bytes_per_s_;
  HeldMessages*& last_;
  std::vector<Message> messages_;
  std::vector<std::size_t> under_way_;
  std::size_t next_ = 0;
  bool released_ = false;
  bool paced_ = false;
  double due_s_ = 0;  ///< when the next one goes
  int looks_ = 0;
  bool interrupted_ = false;
};

}  // namespace antiphon::mpi
