// SPDX-License-Identifier: Apache-2.0
// Tracks the program's requests for which the library does not know everything; the library's own handle finds them.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "call/own_type.hpp"
#include "compress/incoming.hpp"
#include "compress/outgoing.hpp"

namespace antiphon::mpi {

struct Tracked {
  bool persistent = false;
  bool active = true;     ///< of a persistent one: started, not completed, and not the library's alone
  bool given_up = false;  ///< a cancelled send that continues by itself
  MPI_Request handle;     ///< the program's
  MPI_Request inner;      ///< waited for in its place: of active persistent ones and of given-up sends
  Parcel parcel;
  std::unique_ptr<Receive> receive;
  SendArguments sends;  ///< of a persistent send, with its own type
  OwnType own_type;
  TypeInfo info;  ///< of that type

  Tracked() : handle(MPI_REQUEST_NULL), inner(MPI_REQUEST_NULL) {}
  Tracked(const Tracked&) = delete;
  Tracked& operator=(const Tracked&) = delete;
};

/// These tell whether any request exists that the library cannot complete alone, or that may be started, freed or
/// cancelled.
bool some_tracked();
bool some_to_start();
/// Tracks the request: from now on, the library does not know everything about it.
void track(std::unique_ptr<Tracked> tracked);
/// Tracks a persistent request to or from MPI_PROC_NULL, of which nothing comes.
void track_idle(MPI_Request persistent);
/// Removes the request from the table; null if it is not there. Until track(), the handle belongs to the caller's call.
std::unique_ptr<Tracked> take(MPI_Request request);
/// Does the same, and also finds requests that the library can complete alone.
std::unique_ptr<Tracked> take_to_start(MPI_Request request);

/// Adopts receives and sends that the program has freed; they are completed when there is an opportunity, at the latest
/// in MPI_Finalize.
void adopt_freed(std::unique_ptr<Tracked> tracked);
/// Adopts the send of a copy that the program has cancelled. MPI_Finalize does not wait for it.
void let_go_on(MPI_Request send, Parcel parcel);
void tend_freed(bool wait);
/// Looks after freed requests at the end of a call that may have brought the news of a freed receive's message.
struct TendAfter {
  TendAfter() = default;
  TendAfter(const TendAfter&) = delete;
  TendAfter& operator=(const TendAfter&) = delete;
  ~TendAfter() { tend_freed(false); }
};

/// Holds the requests of one call, and what is tracked of them.
class Batch {
 public:
  Batch(int count, const MPI_Request* requests);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Tells whether none is tracked, so that the call is the library's.
  [[nodiscard]] bool plain() const { return !some_; }
  /// Returns the requests for the library.
  [[nodiscard]] MPI_Request* requests() { return handles_.data(); }

  /// Holds one that the library has completed, with its status (which becomes the program's) and the library's code for
  /// it.
  struct Done {
    int index;
    MPI_Status* status;
    int code;
  };
  /// Finishes these, puts all others back, and writes what is left to the program's array. Codes become the program's.
  /// Returns true if one has become an error that the library does not know of.
  bool settle(std::vector<Done>& done, MPI_Request* program);
  /// Tells whether the only request is complete, without completing it.
  int look(int* flag, MPI_Status* status);
  /// Returns where such an error is to be reported.
  [[nodiscard]] MPI_Comm failed_comm() const { return failed_comm_; }

 private:
  bool finish_one(Done& done, MPI_Request* program);

  bool some_ = false;
  std::vector<MPI_Request> handles_;
  std::vector<std::unique_ptr<Tracked>> tracked_;
  MPI_Comm failed_comm_;
};

}  // namespace antiphon::mpi
