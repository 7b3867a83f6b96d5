// SPDX-License-Identifier: Apache-2.0
// What is known of the whole pattern of a communicator's Alltoallv calls: from a plan file, or gathered now and then.
//
// It only advises a rank on its way through an exchange, so ranks need not agree on it: one whose counts are not those
// of the pattern ignores it, and the exchange goes on. docs/concepts/credit.md says why that is enough.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "antiphon/phases.hpp"
#include "antiphon/problem.hpp"
#include "entry/advice.hpp"
#include "entry/compiled_patterns.hpp"

namespace antiphon::mpi {

class PatternHistory {
 public:
  /// `own_comm` gives Antiphon's own communicator, which is made at its first use. `patterns` must outlive the history.
  PatternHistory(int rank, int size, CompiledPatterns& patterns, std::function<MPI_Comm()> own_comm);
  ~PatternHistory();
  PatternHistory(const PatternHistory&) = delete;
  PatternHistory& operator=(const PatternHistory&) = delete;

  /// Whether a plan file has patterns for so many ranks: the same on every rank.
  [[nodiscard]] bool planned() const { return planned_ > 0; }
  /// Once before each call that uses the following. Before the first, and after so many calls that it costs next to
  /// nothing, all ranks gather their counts. Where calls are not long, that goes on beside the call, and is known at
  /// the next.
  void before_call(const Problem& p);
  /// Whether this call is for the library, whatever its counts are: the pattern gathered last is short, and no rank had
  /// a long call between the last two gatherings. The same on every rank.
  [[nodiscard]] bool leaves_to_library() const { return is_short_; }
  /// Instead of all the rest, where nothing is to be done but to leave this call, of which this rank sends so much, to
  /// the library. The same on every rank. False: the call is to be looked at.
  bool pass(std::int64_t sent_bytes) {
    if (!is_short_ || gathering_ != MPI_REQUEST_NULL || calls_ + 1 == next_gathering_) return false;
    ++calls_;
    most_sent_bytes_ = std::max(most_sent_bytes_, sent_bytes);
    return true;
  }
  /// The way of this call: by what is known, if this rank's counts are those of a known pattern; `in_step`: else.
  Way way(const Problem& p, bool in_step);
  /// `stalled`: this rank lost its patience. With the same counts it is free from the beginning next time.
  void after_call(bool stalled) { stalled_ = stalled; }
  /// What the last way was by, for the summary: a text, or null.
  [[nodiscard]] const std::string* used() const { return used_; }

 private:
  void begin_gathering(const Problem& p);
  bool finish_gathering();
  void take_in();
  const Advice* find(const Problem& p);
  [[nodiscard]] bool was_gathered(const Problem& p) const;
  bool counts_are_new(const Problem& p);

  int rank_, size_;
  CompiledPatterns& patterns_;
  std::function<MPI_Comm()> own_comm_;
  friend void finish_gatherings();

  std::uint64_t calls_ = 0;
  std::uint64_t next_gathering_ = 1;
  MPI_Request gathering_ = MPI_REQUEST_NULL;  ///< under way, into coming_
  std::vector<std::unique_ptr<Advice>>
      known_;  ///< the first planned_ are from the plan, then the one of the gathered pattern
  Pattern gathered_;
  std::uint64_t gathered_before_ = 0;  ///< the call that it was gathered before, the first time
  bool is_long_ = false;               ///< the gathered pattern: worth scheduling
  bool is_short_ = false;
  bool at_once_ = false;              ///< worth scheduling for the call that it was gathered for
  std::int64_t most_sent_bytes_ = 0;  ///< in one call since the last gathering
  std::size_t planned_ = 0;
  std::size_t last_ = 0;
  std::vector<std::int64_t> table_, coming_;
  std::vector<std::int64_t> sent_, received_;  ///< counts of the last call that nothing was known of
  bool stalled_ = false;
  const std::string* used_ = nullptr;
};

/// Before MPI_Finalize: gatherings of communicators that were not freed come to their end.
void finish_gatherings();

}  // namespace antiphon::mpi
