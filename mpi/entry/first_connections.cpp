// SPDX-License-Identifier: Apache-2.0
#include "entry/first_connections.hpp"

#include "antiphon/index.hpp"

namespace antiphon::mpi {

namespace {

/// Schedules, the credit protocol and messages about groups have other tags.
constexpr int connecting_tag = 30020;

}  // namespace

/// Gives up what a schedule that failed has left.
FirstConnections::~FirstConnections() {
  for (MPI_Request& request : under_way_) PMPI_Request_free(&request);
}

void FirstConnections::open(const Schedule& schedule, MPI_Comm own) {
  const std::vector<int>& nodes = shape_.node_of_rank;
  for (const Op& op : schedule.ops()) {
    const bool sends = op.kind == OpKind::send;
    // A multicast's sender has no message for each receiver.
    if ((!sends && op.kind != OpKind::recv) || op.group >= 0) continue;
    if (nodes[at(op.peer)] == nodes[at(shape_.rank)]) continue;
    auto known = (sends ? sent_to_ : received_from_)[at(op.peer)];
    if (known) continue;
    known = true;
    MPI_Request request = MPI_REQUEST_NULL;
    const int rc = sends ? PMPI_Isend(nullptr, 0, MPI_BYTE, op.peer, connecting_tag, own, &request)
                         : PMPI_Irecv(nullptr, 0, MPI_BYTE, op.peer, connecting_tag, own, &request);
    if (rc == MPI_SUCCESS) under_way_.push_back(request);
  }
}

void FirstConnections::finish() {
  if (under_way_.empty()) return;
  PMPI_Waitall(static_cast<int>(under_way_.size()), under_way_.data(), MPI_STATUSES_IGNORE);
  under_way_.clear();
}

}  // namespace antiphon::mpi
