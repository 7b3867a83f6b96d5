// SPDX-License-Identifier: Apache-2.0
#include "observe/merge.hpp"

#include <string>
#include <utility>

namespace antiphon::mpi {

namespace {

constexpr int merge_tag = 2;

std::string receive(int from, MPI_Comm comm) {
  MPI_Status status;
  int length = 0;
  PMPI_Probe(from, merge_tag, comm, &status);
  PMPI_Get_count(&status, MPI_CHAR, &length);
  std::string text(static_cast<std::size_t>(length), ' ');
  PMPI_Recv(text.data(), length, MPI_CHAR, from, merge_tag, comm, MPI_STATUS_IGNORE);
  return text;
}

}  // namespace

Json merge_over_ranks(Json own, const std::function<Json(const Json&, const Json&)>& merge, MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  for (int distance = 1; distance < size; distance *= 2) {
    if (rank % (2 * distance) != 0) {
      const std::string text = own.dump();
      PMPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, rank - distance, merge_tag, comm);
      return nullptr;
    }
    if (rank + distance < size) own = merge(own, Json::parse(receive(rank + distance, comm)));
  }
  return own;
}

}  // namespace antiphon::mpi
