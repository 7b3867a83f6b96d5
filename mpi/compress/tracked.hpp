// SPDX-License-Identifier: Apache-2.0
// The program's requests that are more than the library knows: found by the library's own handle.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "compress/incoming.hpp"
#include "compress/outgoing.hpp"

namespace antiphon::mpi {

struct Tracked {
  bool persistent = false;
  bool active = true;     ///< of a persistent one: started and not completed, otherwise than by the library alone
  bool given_up = false;  ///< a send that the program cancelled and that goes on by itself
  MPI_Request handle;     ///< the program's
  MPI_Request inner;      ///< what to wait for in its place, if anything: of active persistent ones and those given up
  Parcel parcel;
  std::unique_ptr<Receive> receive;
  SendArguments sends;  ///< of a persistent send; its type is a duplicate, as the program may free its own
  bool owns_type = false;
  TypeInfo info;  ///< of that type

  Tracked() : handle(MPI_REQUEST_NULL), inner(MPI_REQUEST_NULL) {}
  ~Tracked() {
    if (owns_type) PMPI_Type_free(&sends.type);
  }
  Tracked(const Tracked&) = delete;
  Tracked& operator=(const Tracked&) = delete;
};

/// Whether there are any at all that the library cannot complete alone; that may be started, freed or cancelled.
bool some_tracked();
bool some_to_start();
/// From now on, `request` is more than the library knows.
void track(std::unique_ptr<Tracked> tracked);
/// A persistent request to or from MPI_PROC_NULL: it is known that nothing comes of it.
void track_idle(MPI_Request persistent);
/// Out of the table; null if it is not in it. Between this and track(), the handle belongs to the caller's call.
std::unique_ptr<Tracked> take(MPI_Request request);
/// The same, with those whose message the library can complete alone.
std::unique_ptr<Tracked> take_to_start(MPI_Request request);

/// Receives and sends that the program has freed: completed when there is an opportunity, at the latest in
/// MPI_Finalize.
void adopt_freed(std::unique_ptr<Tracked> tracked);
/// The same with the send of a copy that the program has cancelled. MPI_Finalize does not wait for it.
void let_go_on(MPI_Request send, Parcel parcel);
void tend_freed(bool wait);
/// When a call ends that may have brought the news of a freed receive's message.
struct TendAfter {
  TendAfter() = default;
  TendAfter(const TendAfter&) = delete;
  TendAfter& operator=(const TendAfter&) = delete;
  ~TendAfter() { tend_freed(false); }
};

/// The requests of one call, and what is tracked of them.
class Batch {
 public:
  Batch(int count, const MPI_Request* requests);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// None is tracked: the call is the library's.
  [[nodiscard]] bool plain() const { return !some_; }
  /// What to hand to the library.
  [[nodiscard]] MPI_Request* requests() { return handles_.data(); }

  /// One that the library has completed, with its status (which becomes the program's) and the code it gave for it.
  struct Done {
    int index;
    MPI_Status* status;
    int code;
  };
  /// Finishes them, puts all others back, and writes to the program's array what is left. Codes become the program's.
  /// True if one has become an error that the library does not know of.
  bool settle(std::vector<Done>& done, MPI_Request* program);
  /// Of the only request: whether it is complete, without completing it.
  int look(int* flag, MPI_Status* status);
  /// Where such an error is to be reported.
  [[nodiscard]] MPI_Comm failed_comm() const { return failed_comm_; }

 private:
  bool finish_one(Done& done, MPI_Request* program);

  bool some_ = false;
  std::vector<MPI_Request> handles_;
  std::vector<std::unique_ptr<Tracked>> tracked_;
  MPI_Comm failed_comm_;
};

}  // namespace antiphon::mpi
