// SPDX-License-Identifier: Apache-2.0
// What is known of the whole pattern of a communicator's Alltoallv calls: from a plan file, or gathered now and then.
//
// It only advises a rank on its way through an exchange, so ranks need not agree on it: one whose counts are not those of
// the pattern ignores it, and the exchange goes on. docs/concepts/credit.md says why that is enough.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "antiphon/credit.hpp"
#include "antiphon/phases.hpp"
#include "antiphon/problem.hpp"
#include "exchange.hpp"

namespace antiphon::mpi {

/// One rank's part of a scheduled pattern: what it sends and receives, and its way through the phases.
struct Advice {
  std::vector<std::int64_t> send_bytes, recv_bytes;  ///< by rank; nothing to oneself
  std::vector<ExchangeStep> steps;
  bool in_step = false;
  double patience_s = 0;  ///< in step

  Advice(const CompiledPattern& compiled, int rank);
  [[nodiscard]] Way way() const { return {steps, in_step, patience_s}; }
  /// Whether these are this call's counts.
  [[nodiscard]] bool fits(const Problem& p) const;
};

/// What is known of the machine, for schedulers.
Fabric fabric_of(MPI_Comm comm, int size);

class PatternKnowledge {
 public:
  /// For a communicator of so many ranks, of which this is one.
  PatternKnowledge(int rank, int size);

  /// Whether a plan file has patterns for so many ranks: the same on every rank.
  [[nodiscard]] bool planned() const { return planned_ > 0; }
  /// Once before each call that uses the following. Before call 2, and after so many calls that it costs next to nothing, all
  /// ranks gather their counts; `own` is for that.
  void before_call(const Problem& p, MPI_Comm own);
  /// The way of this call: by what is known, if this rank's counts are those of a known pattern; `in_step`: else.
  Way way(const Problem& p, MPI_Comm own, bool in_step);
  /// `stalled`: this rank lost its patience. With the same counts it is free from the beginning next time.
  void after_call(bool stalled) { stalled_ = stalled; }
  /// What the last way was by, for the summary: a text, or null.
  [[nodiscard]] const std::string* used() const { return used_; }

 private:
  void gather(const Problem& p, MPI_Comm own);
  const Advice* find(const Problem& p);
  [[nodiscard]] bool was_gathered(const Problem& p) const;
  bool counts_are_new(const Problem& p);

  int rank_, size_;
  std::uint64_t calls_ = 0;
  std::uint64_t next_gathering_ = 2;
  std::vector<std::unique_ptr<Advice>> known_;  ///< the first planned_ are from the plan, then the one of the gathered pattern
  Pattern gathered_;
  std::uint64_t gathered_before_ = 0;  ///< the call
  bool is_long_ = false;               ///< the gathered pattern: worth scheduling
  std::size_t planned_ = 0;
  std::size_t last_ = 0;
  std::vector<std::int64_t> table_;
  std::vector<std::int64_t> sent_, received_;  ///< counts of the last call that nothing was known of
  bool stalled_ = false;
  const std::string* used_ = nullptr;
};

}  // namespace antiphon::mpi
