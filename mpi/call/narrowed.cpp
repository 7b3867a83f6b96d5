// SPDX-License-Identifier: Apache-2.0
#include "call/narrowed.hpp"

#include <algorithm>
#include <limits>

namespace antiphon::mpi {

int Narrowed::count(std::int64_t given, int length) {
  using Limits = std::numeric_limits<int>;
  // Where it means nothing, MPICH may still ask whether it is 0 or negative.
  const auto small = std::clamp<std::int64_t>(given, Limits::min(), Limits::max());
  fits_ = fits_ && (small == given || length == 0);
  return static_cast<int>(small);
}

const int* Narrowed::array(const Integers& given, int length) {
  if (!given.present() || given.small() != nullptr) return given.small();
  // Libraries complain of a null pointer even where they do not look at the array.
  auto& copy = copies_.emplace_back(static_cast<std::size_t>(length) + 1);
  for (int i = 0; i < length; ++i) copy[static_cast<std::size_t>(i)] = count(given[i]);
  return copy.data();
}

int Narrowed::too_large(MPI_Comm comm) {
  PMPI_Comm_call_errhandler(comm, MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

}  // namespace antiphon::mpi
