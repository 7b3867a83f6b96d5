// SPDX-License-Identifier: Apache-2.0
#include "compress/freeing_comm.hpp"

#include "compress/framing.hpp"
#include "compress/messages.hpp"

namespace antiphon::mpi {

FreeingComm::FreeingComm(const MPI_Comm* comm) {
  if (comm == nullptr || *comm == MPI_COMM_NULL) return;
  one_ = new CommBeingFreed{*comm, framing() ? Messages::existing(*comm) : nullptr, CommBeingFreed::innermost};
  CommBeingFreed::innermost = one_;
}

FreeingComm::~FreeingComm() {
  if (one_ == nullptr) return;
  CommBeingFreed::innermost = one_->outer;
  delete one_;
}

}  // namespace antiphon::mpi
