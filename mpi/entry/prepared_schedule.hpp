// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "antiphon/problem.hpp"
#include "antiphon/select.hpp"
#include "run/executor.hpp"

namespace antiphon::mpi {

/// A schedule, ready to run again and again, with the problem that it solves.
struct PreparedSchedule {
  Problem problem;
  const Algorithm* algorithm = nullptr;
  std::unique_ptr<Executor> executor;
  std::uint64_t last_used = 0;
  /// The group that these multicasts use was made for one call (scatterv:multicast with members=2).
  bool groups_for_one_call = false;
  /// For antiphon_chosen() and the summary, where multicasts had to be sent as messages to each receiver: why.
  std::string without_groups;
};

}  // namespace antiphon::mpi
