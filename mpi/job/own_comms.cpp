// SPDX-License-Identifier: Apache-2.0
#include "job/own_comms.hpp"

#include "job/errors_return.hpp"
#include "job/members.hpp"

namespace antiphon::mpi {

namespace {

/// make_comm_of_self() sets it because not all libraries have constants for handles.
MPI_Comm of_self;

}  // namespace

MPI_Comm create_comm(MPI_Comm from, MPI_Group group) {
  const ErrorsReturn errors_return(from);
  MPI_Comm made = MPI_COMM_NULL;
  const int rc = PMPI_Comm_create(from, group, &made);
  if (rc != MPI_SUCCESS || made == MPI_COMM_NULL) return MPI_COMM_NULL;
  PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

MPI_Comm bare_copy(MPI_Comm of) {
  MPI_Group group = members_of(of);
  const MPI_Comm copy = create_comm(of, group);
  PMPI_Group_free(&group);
  return copy;
}

void make_comm_of_self() { of_self = bare_copy(MPI_COMM_SELF); }
MPI_Comm comm_of_self() { return of_self; }
void free_comm_of_self() { PMPI_Comm_free(&of_self); }

}  // namespace antiphon::mpi
