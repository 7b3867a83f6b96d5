// SPDX-License-Identifier: Apache-2.0
#include "entry/own_comm.hpp"

#include "job/members.hpp"
#include "job/own_comms.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

std::atomic<bool> program_idups{false};

}  // namespace

OwnComm::~OwnComm() {
  if (!exists()) return;
  MPI_Comm own = release();
  PMPI_Comm_free(&own);
}

MPI_Comm OwnComm::release() {
  --own_comm_counts.taken;
  state_ = State::refused;
  return own_;
}

MPI_Comm OwnComm::get() {
  if (state_ == State::absent) take(all_may_make() ? bare_copy(of_) : MPI_COMM_NULL);
  if (refused()) throw NoMoreCommunicators();
  if (idle_.load(std::memory_order_relaxed) && idle_.exchange(false)) own_comm_counts.idle -= 2;
  return own_;
}

/// Tells whether no rank has too many, nor may be making others of the program meanwhile. Collective.
bool OwnComm::all_may_make() const {
  if (world.orders_ids && world.some_have_threads) return false;
  int most = world.orders_ids && program_idups ? OwnCommCounts::most : own_comm_counts.taken.load();
  const int rc = PMPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, of_);
  return rc == MPI_SUCCESS && most < OwnCommCounts::most;
}

void OwnComm::make_early(MPI_Comm from) {
  MPI_Group group = members_of(of_);
  take(create_comm(from, group));
  PMPI_Group_free(&group);
  if (!exists()) return;
  idle_ = true;
  ++own_comm_counts.idle;
}

void OwnComm::take(MPI_Comm made) {
  own_ = made;
  state_ = made == MPI_COMM_NULL ? State::refused : State::made;
  if (exists()) ++own_comm_counts.taken;
}

void note_idup() { program_idups = true; }

}  // namespace antiphon::mpi
