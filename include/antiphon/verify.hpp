// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "antiphon/algorithm.hpp"

namespace antiphon {

/// One rank's memory. `input` and `output` may be the same or overlapping memory (MPI_IN_PLACE).
struct Memory {
  std::byte* input = nullptr;
  std::int64_t input_bytes = 0;
  std::byte* output = nullptr;
  std::int64_t output_bytes = 0;
};

/// Computes inout[i] = in[i] OP inout[i] over `bytes` bytes: the meaning of a reduce operation.
using Reduction = std::function<void(const std::byte* in, std::byte* inout, std::int64_t bytes)>;

/// Runs all ranks' schedules in this process, moving real bytes. The order in which operations start, messages arrive
/// and complete is drawn from `seed`: any interleaving that the dependencies allow can happen, and a message is read
/// from the sender's memory as late as possible. Returns what went wrong, or nothing. Errors are a deadlock, a message
/// without a receive, one longer or shorter than expected, a range outside its memory, and two concurrent operations on
/// the same bytes of which at least one writes.
std::optional<std::string> run_in_process(const std::vector<Schedule>& schedules, const std::vector<Memory>& memories,
                                          const Reduction& reduction, std::uint64_t seed);

/// A collective call as seen from outside: everything that is needed to make every rank's Problem.
struct Case {
  Collective collective = Collective::barrier;
  int size = 1;
  int root = 0;
  std::int64_t bytes = 0;          ///< block size; irregular collectives: the mean of random sizes, some of them zero
  std::int64_t element_bytes = 1;  ///< reductions
  bool commutative = true;         ///< false: element_bytes must be 8
  bool in_place = false;
  std::uint64_t seed = 1;
  Parameters parameters;
  std::vector<int> order;         ///< as Problem::order
  std::vector<int> node_sizes;    ///< as Problem::node_sizes
  std::vector<int> switch_sizes;  ///< as Problem::switch_sizes
};

/// Returns every rank's problem. Irregular sizes come from the case's seed; `knowledge` decides which sizes each rank
/// knows.
std::vector<Problem> problems_of(const Case& c, Knowledge knowledge = Knowledge::local);

/// Builds the algorithm's schedules for all ranks, runs them in process on random data and compares every byte (also
/// those that must stay untouched) with a plain reference. Returns what is wrong, or nothing.
std::optional<std::string> check(const Algorithm& algorithm, const Case& c);

/// What check_supported() finds.
struct Checked {
  bool supported = false;  ///< false: nothing was run
  std::optional<std::string> wrong;
};

/// Does the same if the algorithm supports the case. That ranks disagree about that is wrong, too.
Checked check_supported(const Algorithm& algorithm, const Case& c);

}  // namespace antiphon
