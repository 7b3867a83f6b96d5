// SPDX-License-Identifier: Apache-2.0
// Runs one rank's schedule over MPI point-to-point messages.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <vector>

#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon::mpi {

/// Where a schedule's spaces are in this call, and what its bytes are.
struct Binding {
  /// By Space. The schedule counts packed bytes; where elements lie apart in memory (a reduction's type with gaps), the
  /// executor translates: packed offset n × size_bytes is memory offset n × extent_bytes.
  std::array<std::byte*, 3> base{};
  MPI_Datatype type = MPI_BYTE;  ///< unit of messages, and of reductions
  std::int64_t size_bytes = 1;
  std::int64_t extent_bytes = 1;
  MPI_Op op = MPI_OP_NULL;
};

/// A schedule made ready to run again and again on one communicator: all storage is allocated here, none when it runs.
class Executor {
 public:
  Executor(Schedule schedule, MPI_Comm comm, bool yield);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  /// Returns an MPI error code. The communicator's error handler must be MPI_ERRORS_RETURN.
  int run(const Binding& binding);

 private:
  int start(const Progress::Piece& piece);
  int post(const Op& op, const Progress::Piece& piece);
  int run_local(const Op& op, const Progress::Piece& piece);
  int wait_some();
  [[nodiscard]] std::byte* address(const Range& range, std::int64_t offset) const;

  Schedule schedule_;
  Progress progress_;
  MPI_Comm comm_;
  int rank_ = 0;
  bool yield_;
  const Binding* binding_ = nullptr;
  /// Requests under way, densely at the front, and whose they are.
  std::vector<MPI_Request> requests_;
  std::vector<Progress::Piece> owners_;
  std::vector<int> completed_;
  int active_ = 0;
};

}  // namespace antiphon::mpi
