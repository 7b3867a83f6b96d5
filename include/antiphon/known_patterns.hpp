// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "antiphon/phases.hpp"
#include "antiphon/problem.hpp"

namespace antiphon {

/// Tells whether the library performs such a pattern as well or better, because the processor time of a call decides:
/// so little goes into and out of every node that the order has no effect, or ranks that share their nodes have nothing
/// but short messages.
bool is_short(const Pattern& pattern, const Fabric& fabric);
/// Returns the most that goes into and out of every node of a short pattern: what its link carries in half a
/// millisecond, or 8 KiB.
std::int64_t short_pattern_bytes(const Fabric& fabric);
/// The longest short message; about 8 KiB, since counts vary.
inline constexpr std::int64_t short_message_bytes = 9216;

/// What all ranks of a communicator know alike of the patterns of its Alltoallv calls, and what follows from it: when
/// they gather their counts, which calls are the library's, and through whose phases they go.
///
/// Every rank has such an object and calls its functions in the same order. Whatever decides is either gathered or the
/// call's number, so all ranks decide alike, whatever the counts of this call are. A rank whose counts differ from the
/// pattern's adapts its part (Advice::way_for), and says in the next gathering that they did.
///
///     known.begin_call();
///     if (a gathering has ended) known.take_in(its rows);
///     if (known.gathers()) {
///       known.tell(problem, own row);                     // then all ranks exchange rows
///       if (known.waits()) known.take_in(all rows);
///     }
///     known.note(problem);
///     … known.leaves_to_library(), known.pattern() …
///
/// In a large communicator, rows of all ranks would take longer than most calls. There ranks add up a few numbers
/// first, a digest: how much all of them send, whether they still have the counts that they had, and on how many a
/// known pattern is another. Rows, which then hold only the messages that there are, follow where counts come again and
/// a call is long enough to pay for them:
///
///     if (known.gathers()) {
///       known.digest(problem, numbers);                    // then all ranks add them up
///       if (known.take_in_digest(sums)) … rows, as above, and this call waits for them
///     }
///
/// Up to four patterns are kept. Each rank notes which of them its counts nearly were in the last 16 calls and tells
/// so when all gather, so that all know which pattern each call had, and find a period in which patterns take turns.
class KnownPatterns {
 public:
  static constexpr int most = 4;
  static constexpr int calls_noted = 16;
  /// Communicators with more ranks are large.
  static constexpr int most_dense_ranks = 64;
  /// With more ranks nothing is gathered: what each rank would keep of a pattern takes megabytes.
  static constexpr int most_ranks = 512;
  static constexpr std::size_t digest_length = 14;
  using Digest = std::array<std::int64_t, digest_length>;

  /// `fabric` must outlive the object.
  KnownPatterns(int rank, int size, const Fabric& fabric);

  [[nodiscard]] int rank() const { return rank_; }
  /// A gathering brings together so many numbers of each rank.
  [[nodiscard]] std::size_t row_length() const { return is_large() ? width_ : static_cast<std::size_t>(size_) + 2; }
  [[nodiscard]] bool is_large() const { return size_ > most_dense_ranks; }
  /// Makes a pattern known that all ranks have from elsewhere, as long as there is room.
  void expect(const Pattern& pattern);

  void begin_call();
  [[nodiscard]] bool gathers() const { return call_ == next_gathering_ && size_ <= most_ranks; }
  /// In a large communicator: returns what this rank adds to the digest.
  [[nodiscard]] Digest digest(const Problem& p);
  /// Takes in the sums over all ranks. Returns true if rows must be gathered now.
  bool take_in_digest(const Digest& sums);
  /// Tells whether this call needs what is gathered; else the gathering goes on beside it, and is taken in by the next.
  [[nodiscard]] bool waits() const { return call_ == 1 || waits_; }
  /// Writes what this rank tells the others before the call of `p`.
  void tell(const Problem& p, std::span<std::int64_t> row);
  /// Takes in all ranks' rows of the last gathering: for this call, or for the call before.
  void take_in(std::span<const std::int64_t> rows);
  /// Notes which patterns the call's counts nearly are.
  void note(const Problem& p);

  /// Stands for all functions above in a call that goes to the library without being looked at, in which this rank
  /// sends others `sent_bytes`. Returns false if the call must be looked at.
  bool pass(std::int64_t sent_bytes);
  /// Tells whether this call is for the library, whatever its counts are: the last gathered pattern is short, and no
  /// rank had a much longer call between the last two gatherings.
  [[nodiscard]] bool leaves_to_library() const { return is_short_; }
  /// Returns the mean length of a rank's block for another when it was gathered last; 0 where most of them are empty.
  [[nodiscard]] std::int64_t mean_bytes() const { return mean_bytes_; }

  /// A pattern that is known.
  struct Scheduled {
    int place = 0;             ///< 0 … most − 1
    std::uint64_t number = 0;  ///< another one for each pattern that ever had this place
    const Pattern* pattern = nullptr;
  };
  /// Returns the pattern that this call is expected to have, or nothing where none is known.
  [[nodiscard]] std::optional<Scheduled> expected() const;
  /// Returns the pattern through whose phases all ranks go in this call, or nothing: then rotated phases are as good.
  [[nodiscard]] std::optional<Scheduled> pattern() const;
  /// Returns how long the links need for a call that is expected to go through rotated phases, and that has nearly the
  /// counts that this rank expects; else 0. Call it after note().
  [[nodiscard]] double even_call_s() const;

 private:
  struct Known {
    std::vector<std::int64_t> counts;  ///< [from · size + to]; 0 of a rank to itself
    Pattern pattern;
    std::int64_t busiest_bytes = 0;  ///< most that a rank sends and receives together
    std::uint64_t number = 0;
    std::uint64_t last_seen = 0;  ///< the call for which it was gathered last
    bool worth_scheduling = false;
    double least_s = 0;  ///< what the links need
  };
  using Noted = std::uint64_t;  ///< a bit for each pattern, and so for 16 calls; the last call has the lowest bits

  [[nodiscard]] std::int64_t count(const Known& known, int from, int to) const;
  [[nodiscard]] bool nearly(const Known& known, std::span<const std::int64_t> counts) const;
  int learn(Pattern pattern, std::vector<std::int64_t> counts, Noted& agreed, bool& is_new);
  void find_period(Noted agreed);
  [[nodiscard]] int place_of(std::uint64_t call) const;
  [[nodiscard]] bool is_worth_scheduling(const Pattern& pattern, double calls) const;
  void plan_gathering(const Known& known, bool is_new);
  [[nodiscard]] bool is_nearly(const Known& known, const Problem& p) const;
  [[nodiscard]] bool has_changed(const Problem& p);
  void tell_sparse(const Problem& p, std::span<std::int64_t> row) const;
  void take_in_sparse(std::span<const std::int64_t> rows);

  int rank_, size_, most_on_a_node_;
  const Fabric& fabric_;
  std::array<Known, most> known_;
  std::uint64_t patterns_ = 0;  ///< ever known
  std::uint64_t call_ = 0;
  std::uint64_t told_for_ = 0, gathered_for_ = 0, next_gathering_ = 1;  ///< calls
  int gathered_ = -1;      ///< the place of the pattern that was gathered last
  bool is_short_ = false;  ///< that pattern, and all calls between the last two gatherings
  bool is_long_ = false;   ///< that pattern has bytes enough
  bool waits_ = false;
  std::int64_t mean_bytes_ = 0;
  std::vector<int> turns_;            ///< places of patterns that take turns after gathered_for_; −1: unknown
  std::uint64_t noted_since_ = 1;     ///< from this call on, notes cover all calls and all patterns
  Noted noted_ = 0;                   ///< by this rank
  std::int64_t most_sent_bytes_ = 0;  ///< in one call since the last gathering

  // In large communicators:
  std::size_t width_ = 0;                      ///< of rows
  std::vector<std::int64_t> sent_, received_;  ///< by this rank, in the call of the last digest
  double calls_s_ = 0, spent_s_ = 0;           ///< what links need for all calls so far, and what rows have cost
};

}  // namespace antiphon
