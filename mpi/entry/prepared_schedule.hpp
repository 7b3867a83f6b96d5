// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "antiphon/problem.hpp"
#include "antiphon/select.hpp"
#include "run/executor.hpp"

namespace antiphon::mpi {

/// Holds a schedule that is ready to run again and again, with the problem that it solves.
struct PreparedSchedule {
  Problem problem;
  const Algorithm* algorithm = nullptr;
  std::unique_ptr<Executor> executor;
  /// This is true if the group of these multicasts was made for one call (scatterv:multicast with members=2).
  bool groups_for_one_call = false;
  /// If multicasts were sent as messages to each receiver, this says why, for antiphon_chosen() and the summary.
  std::string without_groups;

  /// Tells whether this is the schedule of such a choice for such a problem, whose parameters do not matter.
  [[nodiscard]] bool serves(const Problem& p, const Choice& choice) const {
    return algorithm == choice.algorithm && problem.parameters == choice.parameters && problem.same_data_as(p);
  }
};

}  // namespace antiphon::mpi
