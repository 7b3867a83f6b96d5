// SPDX-License-Identifier: Apache-2.0
// The history knows the whole pattern of a communicator's Alltoallv calls, from a plan file or from occasional
// gathering.
//
// It only advises a rank on its way through an exchange, so ranks need not agree on it. A rank whose counts differ from
// the pattern ignores it, and the exchange goes on; docs/concepts/credit.md says why that is enough.
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

  /// Tells whether a plan file has patterns for this number of ranks; the same on every rank.
  [[nodiscard]] bool planned() const { return planned_ > 0; }
  /// Call this once before each call that uses the following functions. All ranks gather their counts before the first
  /// call, and again so rarely that it costs next to nothing. If calls are not long, gathering goes on beside the call,
  /// and the result is known at the next one.
  void before_call(const Problem& p);
  /// Tells whether this call is for the library, whatever its counts are: the last gathered pattern is short, and no
  /// rank had a long call between the last two gatherings. The same on every rank.
  [[nodiscard]] bool leaves_to_library() const { return is_short_; }
  /// Replaces all the rest if the only thing to do is to leave this call, of which this rank sends `sent_bytes`, to the
  /// library. Returns false if the call must be looked at. The same on every rank.
  bool pass(std::int64_t sent_bytes) {
    if (!is_short_ || gathering_ != MPI_REQUEST_NULL || calls_ + 1 == next_gathering_) return false;
    ++calls_;
    most_sent_bytes_ = std::max(most_sent_bytes_, sent_bytes);
    return true;
  }
  /// Returns the way of this call: from a known pattern if this rank's counts fit one, else as `in_step` says.
  Way way(const Problem& p, bool in_step);
  /// `stalled` says that this rank lost its patience. With the same counts it is free from the beginning next time.
  void after_call(bool stalled) { stalled_ = stalled; }
  /// Returns what decided the last way, for the summary: a text, or null.
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
      known_;  ///< the first planned_ are from the plan; then comes the gathered pattern's
  Pattern gathered_;
  std::uint64_t gathered_before_ = 0;  ///< the call for which the pattern was first gathered
  bool is_long_ = false;               ///< the gathered pattern is worth scheduling
  bool is_short_ = false;
  bool at_once_ = false;              ///< worth scheduling for the call that it was gathered for
  std::int64_t most_sent_bytes_ = 0;  ///< in one call since the last gathering
  std::size_t planned_ = 0;
  std::size_t last_ = 0;
  std::vector<std::int64_t> table_, coming_;
  std::vector<std::int64_t> sent_, received_;  ///< counts of the last call without a known pattern
  bool stalled_ = false;
  const std::string* used_ = nullptr;
};

/// Ends the gatherings of communicators that were not freed; called before MPI_Finalize.
void finish_gatherings();

}  // namespace antiphon::mpi
