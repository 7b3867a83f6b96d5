// SPDX-License-Identifier: Apache-2.0
#include "job/shared_text.hpp"

#include <mpi.h>

#include <numeric>

namespace antiphon::mpi {

std::vector<std::string> gather_texts(const std::string& own) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto ranks = static_cast<std::size_t>(rank == 0 ? size : 0);
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths(ranks);
  PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> offsets(ranks + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  std::string all(static_cast<std::size_t>(offsets.back()), '\0');
  PMPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks; ++r)
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
  return texts;
}

std::string from_rank_0(std::string text) {
  auto length = static_cast<long long>(text.size());
  PMPI_Bcast(&length, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  PMPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

}  // namespace antiphon::mpi
