// SPDX-License-Identifier: Apache-2.0
#include "job/members.hpp"

namespace antiphon::mpi {

MPI_Group members_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  int members = 0;
  int ranks = 0;
  PMPI_Comm_group(comm, &group);
  PMPI_Group_size(group, &members);
  PMPI_Comm_size(comm, &ranks);
  if (members == ranks) return group;
  MPI_Group first = MPI_GROUP_NULL;
  int range[][3] = {{0, ranks - 1, 1}};
  PMPI_Group_range_incl(group, 1, range, &first);
  PMPI_Group_free(&group);
  return first;
}

}  // namespace antiphon::mpi
