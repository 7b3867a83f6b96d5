// SPDX-License-Identifier: Apache-2.0
#include "job/first_process.hpp"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace antiphon::mpi {

bool is_first_process() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_ID", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

}  // namespace antiphon::mpi
