// SPDX-License-Identifier: Apache-2.0
// Where ranks connect only when one first sends to the other (library_connects_late()), each rank of a chain would
// begin that when its first piece has come: one connection after the other.
#pragma once

#include <mpi.h>

#include <vector>

#include "antiphon/schedule.hpp"
#include "entry/comm_shape.hpp"

namespace antiphon::mpi {

/// Opens the connections that a communicator's schedules need, all of a schedule at once, by empty messages.
class FirstConnections {
 public:
  /// The shape must outlive it.
  explicit FirstConnections(const CommShape& shape)
      : shape_(shape), sent_to_(shape.node_of_rank.size()), received_from_(shape.node_of_rank.size()) {}
  ~FirstConnections();
  FirstConnections(const FirstConnections&) = delete;
  FirstConnections& operator=(const FirstConnections&) = delete;

  /// Sends an empty message to each rank of another node to which the schedule is the first to send, and receives those
  /// for this rank. All ranks open their parts of the same schedules in the same order.
  void open(const Schedule& schedule, MPI_Comm own);
  /// Waits for these messages; they are there once all that the schedule receives is.
  void finish();

 private:
  const CommShape& shape_;
  std::vector<bool> sent_to_, received_from_;
  std::vector<MPI_Request> under_way_;
};

}  // namespace antiphon::mpi
