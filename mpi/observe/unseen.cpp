// SPDX-License-Identifier: Apache-2.0
#include "observe/unseen.hpp"

#include <mpi.h>

#include <cstdlib>
#include <cstring>

#include "job/first_process.hpp"
#include "job/library.hpp"
#include "job/loaded_symbols.hpp"
#include "job/tools.hpp"
#include "job/warn.hpp"

namespace antiphon::mpi {

namespace {

bool started = false;

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

bool wants_summary() {
  const char* const enabled = std::getenv("ANTIPHON");
  return (is_set("ANTIPHON_SUMMARY") || is_set("ANTIPHON_METRICS")) &&
         (enabled == nullptr || std::strcmp(enabled, "off") != 0);
}

__attribute__((destructor)) void report_unseen_run() {
  const bool is_foreign = library_found.load() && !library_fits;  // which has been said
  if (started || is_foreign || !wants_summary() || !is_first_process()) return;
  void* const finalized = loaded_definition("PMPI_Finalized");
  int over = 0;
  if (finalized == nullptr || reinterpret_cast<int (*)(int*)>(finalized)(&over) != MPI_SUCCESS || over == 0) return;
  warn("no summary: the program used MPI, but none of its calls came to libantiphon-" ANTIPHON_ABI
       ".so; something calls the MPI library directly (`antiphon doctor` looks for it)");
}

}  // namespace

void note_start() { started = true; }

void report_tools() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const Tool& tool : tools_in_line()) {
    if (rank != 0 || tool.sees_every_call) continue;
    warn(tool.file +
         " sees only the calls that Antiphon leaves to the MPI library; it sees all if LD_PRELOAD names it before "
         "libantiphon-" ANTIPHON_ABI ".so, as with `antiphon run`");
  }
}

}  // namespace antiphon::mpi
