// SPDX-License-Identifier: Apache-2.0
// What is known of the whole pattern of a communicator's Alltoallv calls: from a plan file, or gathered now and then.
//
// It only advises the credit protocol in which order to grant, so ranks need not agree on it: one whose counts are not those of
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

namespace antiphon::mpi {

/// One rank's part of a scheduled pattern: what it sends and receives, and the order in which to grant.
struct Advice {
  std::vector<std::int64_t> send_bytes, recv_bytes;  ///< by rank; nothing to oneself
  std::vector<GrantStep> order;

  Advice(const CompiledPattern& compiled, int rank);
  /// Whether these are this call's counts.
  [[nodiscard]] bool fits(const Problem& p) const;
};

/// How much longer rotated phases in lock-step take than the busiest rank's bytes: in a phase a rank is done when both its send
/// and its receive are, and nobody is ahead by more than a window. 1: nothing waits.
double lockstep_drag(const Pattern& pattern);

/// What is known of the machine, for schedulers.
Fabric fabric_of(MPI_Comm comm, int size);

class PatternKnowledge {
 public:
  /// For a communicator of so many ranks, of which this is one.
  PatternKnowledge(int rank, int size);

  /// Whether a plan file has patterns for so many ranks: the same on every rank.
  [[nodiscard]] bool planned() const { return planned_ > 0; }
  /// Once before each call that uses any of the following. On calls 2, 8, 32 and every 128th of the communicator all ranks gather
  /// their counts; `own` is for that.
  void before_call(const Problem& p, MPI_Comm own);
  /// Whether rotated phases would wait for each other, by the pattern that was gathered last. The same on every rank, since all
  /// know the same pattern.
  [[nodiscard]] bool uneven() const { return uneven_; }
  /// The advice for this call, if there is any.
  std::span<const GrantStep> advice(const Problem& p, MPI_Comm own);
  /// What advice the last call had, for the summary: a text, or null.
  [[nodiscard]] const std::string* used() const { return used_; }

 private:
  void gather(const Problem& p, MPI_Comm own);
  const Advice* find(const Problem& p);

  int rank_, size_;
  std::uint64_t calls_ = 0;
  std::vector<std::unique_ptr<Advice>> known_;  ///< the first planned_ are from the plan, then the one of the gathered pattern
  Pattern gathered_;  ///< scheduled when advice is first asked for
  std::size_t planned_ = 0;
  std::size_t last_ = 0;
  bool uneven_ = false;
  std::vector<std::int64_t> table_;
  const std::string* used_ = nullptr;
};

}  // namespace antiphon::mpi
