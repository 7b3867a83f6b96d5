// SPDX-License-Identifier: Apache-2.0
// Data that a process leaves with its launcher before MPI_Init, for the other processes of its job. MPI_Init waits for
// all of them, so what is not there afterwards will not come: this tells ranks apart that do not take part.
#pragma once

#include <optional>
#include <string>

namespace antiphon::mpi {

/// One way to reach the launcher.
struct JobData {
  /// Leaves this process's text; where that is not possible before MPI_Init, it makes the library's start do it.
  void (*before_init)(const std::string& text);
  /// Returns this process's rank in its job if its text is with the launcher.
  std::optional<int> (*own_rank)();
  /// Returns the text of a rank; empty if it left none.
  std::string (*text_of)(int rank);
};

/// PMIx: Open MPI, and MPICH where it was built so.
extern const JobData pmix_data;
/// The PMI-1 protocol to Hydra's proxy: MPICH.
extern const JobData pmi_data;

}  // namespace antiphon::mpi
