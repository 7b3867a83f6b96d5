// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Returns the sums of these counts over all ranks by their names, at rank 0; null if all are 0. Collective over
/// MPI_COMM_WORLD.
template <std::size_t N>
Json summed_row(const std::array<const char*, N>& names, const std::array<std::int64_t, N>& own) {
  std::array<std::int64_t, N> all{};
  PMPI_Reduce(own.data(), all.data(), static_cast<int>(N), MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (all == std::array<std::int64_t, N>{}) return nullptr;
  Json row;
  for (std::size_t i = 0; i < N; ++i) row[names[i]] = all[i];
  return row;
}

}  // namespace antiphon::mpi
