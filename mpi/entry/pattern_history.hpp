// SPDX-License-Identifier: Apache-2.0
// The history knows the patterns of a communicator's Alltoallv calls, from a plan file or from occasional gathering,
// and says through which phases this rank goes in a call.
//
// What is gathered decides on all ranks alike (antiphon/known_patterns.hpp), with a plan, too: the plan's phases take
// the place of those that would be made here. A rank whose own counts are those of a pattern of the plan does not wait
// for a gathering to tell so. Either way the result of a call is right whatever the others do:
// docs/concepts/credit-deadlock.md.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "antiphon/advice.hpp"
#include "antiphon/known_patterns.hpp"
#include "antiphon/problem.hpp"
#include "antiphon/step_retry.hpp"
#include "entry/compiled_patterns.hpp"
#include "entry/planned_ways.hpp"

namespace antiphon::mpi {

class PatternHistory {
 public:
  /// `own_comm` gives Antiphon's own communicator, which is made at its first use. `patterns` must outlive the history.
  PatternHistory(int rank, int size, CompiledPatterns& patterns, std::function<MPI_Comm()> own_comm);
  ~PatternHistory();
  PatternHistory(const PatternHistory&) = delete;
  PatternHistory& operator=(const PatternHistory&) = delete;

  /// Call this once before each call that uses the following functions. All ranks gather their counts before the first
  /// call, and again so rarely that it costs next to nothing. `may_leave`, the same on every rank: short calls may be
  /// left to the library.
  void before_call(const Problem& p, bool may_leave);
  /// Tells whether this call is for the library, whatever its counts are; the same on every rank.
  [[nodiscard]] bool leaves_to_library() const { return leaves_; }
  /// Returns the mean length of a block in such calls, or 0 where most are empty; the same on every rank.
  [[nodiscard]] std::int64_t mean_bytes() const { return known_.mean_bytes(); }
  /// Replaces all the rest if the only thing to do is to leave this call, in which this rank sends others `sent_bytes`,
  /// to the library. Returns false if the call must be looked at. The same on every rank.
  bool pass(std::int64_t sent_bytes) {
    return leaves_ && gathering_ == MPI_REQUEST_NULL && known_.pass(sent_bytes) && left();
  }
  /// Returns the way of this call: through the phases of a known pattern, else as `in_step` says.
  Way way(const Problem& p, bool in_step);
  /// `stalled` says that this rank lost its patience. With the same counts it is free in the next calls.
  void after_call(bool stalled) { step_retry_.end(stalled); }
  /// Returns what decided the last way, for the summary: a text, or null. Without a plan it is the same on every rank.
  [[nodiscard]] const std::string* used() const { return used_; }

 private:
  /// Tells whether ranks gather, or agree on digests; with even more ranks each goes by its own counts.
  [[nodiscard]] bool gathers() const { return size_ <= KnownPatterns::most_ranks; }
  void gather(const Problem& p);
  void agree(const Problem& p);
  void begin_gathering(const Problem& p);
  void under_way(int rc);
  bool finish_gathering();
  /// What a rank goes by, and what the plan expects that it saves.
  struct Guide {
    Advice* advice = nullptr;
    bool planned = false;
    std::int64_t saves_ns = 0;
  };
  Guide expected_guide();
  Guide guide(const Problem& p);
  bool left();
  bool counts_are_new(const Problem& p);

  int size_;
  CompiledPatterns& patterns_;
  std::function<MPI_Comm()> own_comm_;
  friend void finish_gatherings();

  KnownPatterns known_;
  MPI_Request gathering_ = MPI_REQUEST_NULL;  ///< under way, into rows_
  std::vector<std::int64_t> rows_;
  bool leaves_ = false;
  /// Holds this rank's part of a pattern that is known, and the number of that pattern.
  struct Gathered {
    std::uint64_t number = 0;
    const CompiledPattern* planned = nullptr;  ///< the pattern as the plan has it
    std::unique_ptr<Advice> advice;            ///< made when it is first needed
  };
  Gathered& expected(const KnownPatterns::Scheduled& pattern);
  std::array<Gathered, KnownPatterns::most> gathered_;
  PlannedWays planned_;
  std::vector<std::int64_t> sent_, received_;  ///< counts of the last call without a known pattern
  StepRetry step_retry_;
  const std::string* used_ = nullptr;
};

/// Ends the gatherings of communicators that were not freed; called before MPI_Finalize.
void finish_gatherings();

}  // namespace antiphon::mpi
