// SPDX-License-Identifier: Apache-2.0
#include "look.hpp"

#include <sched.h>

#include <string_view>

namespace probe {

bool tests_keep_the_core() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  return std::string_view(version, static_cast<std::size_t>(length)).rfind("MPICH", 0) == 0;
}

bool look(std::span<MPI_Request> requests, bool yields) {
  int done = 0;
  MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
  if (done == 0 && yields) sched_yield();
  return done != 0;
}

}  // namespace probe
