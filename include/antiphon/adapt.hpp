// SPDX-License-Identifier: Apache-2.0
// Evidence from the run: which of several ways to do a collective is the fastest, found from the program's own calls.
// docs/concepts/adapting.md explains the test, and what it may cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace antiphon {

/// Tells from pairs of times, one pair after the other, which of two ways is faster. It may be asked after each pair:
/// the probability that it is ever wrong about equal ways is bounded (a confidence sequence).
class PairedTest {
 public:
  enum class Verdict : std::uint8_t {
    open,    ///< not known yet
    slower,  ///< the contender is slower, or not faster by as much as matters
    faster,  ///< the contender is faster
  };
  /// Takes in a pair: the logarithm to base 2 of the contender's time over the other one's.
  void add(double octaves);
  [[nodiscard]] Verdict verdict() const;
  [[nodiscard]] int pairs() const { return pairs_; }
  /// Returns the mean of the logarithms.
  [[nodiscard]] double mean() const { return mean_; }

 private:
  int pairs_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< sum of squared deviations from the mean
};

/// Tells when times are no longer what they were (a two-sided CUSUM of deviations from their own median).
class ChangeWatch {
 public:
  /// Takes in the logarithm of a time. Returns true if the times have changed; it then starts afresh.
  bool add(double octaves);

 private:
  void settle();

  std::vector<double> first_;  ///< until there are enough to know what is usual
  double usual_ = 0;
  double spread_ = 0;  ///< 0: not known yet
  double above_ = 0;
  double below_ = 0;
};

/// Lets the ways to do one collective of one communicator take turns. Every rank holds one, and all of them stay equal:
/// which way a call takes follows from the number of calls and from times that all ranks have agreed on.
///
/// For each call: way = next(); if timed(), read the clock; done(ns). If that returns true, replace each of numbers()
/// by its maximum over all ranks, then take_in().
///
/// Calls of which one may begin before the last one has ended everywhere (broadcasts, reductions) take turns in rows: a
/// time is that of several calls in a row, after a few that lead from one way to the other.
class Turns {
 public:
  /// Everything here must be equal on all ranks.
  struct Terms {
    int contenders = 2;             ///< ways; the first is in use at the beginning
    int first_round = 8;            ///< calls before the ranks agree for the first time, 3 or more
    std::int64_t agreement_ns = 0;  ///< what agreeing may take, until it is known
    double expected_ns = 0;         ///< what a call by the way in use at first is expected to take; 0: not known
    double expected_other_ns = 0;   ///< the same of the contenders
    bool in_rows = false;           ///< calls may overlap
    double lasting_row_ns = 0;      ///< shorter rows show only who is much faster; 0: all show the truth
  };
  explicit Turns(const Terms& terms);

  /// Returns the way of the next call.
  [[nodiscard]] int next() const { return timed() ? slots_[slot_].contender : in_use_; }
  /// Tells whether the time of the next call is wanted.
  [[nodiscard]] bool timed() const { return slot_ < slots_.size() && slots_[slot_].call <= call_; }
  /// Ends a call that took `ns` here (if it was timed; no_time: it was done in another way after all). Returns true if
  /// the ranks must agree now.
  bool done(std::int64_t ns) {
    if (timed()) take_time(ns);
    return ++call_ == length_;
  }
  static constexpr std::int64_t no_time = -1;
  /// Sets the time of this round's n-th timed call, of a call that ends after done(), before the ranks agree; not in
  /// rows. A time that this rank does not know counts on no rank.
  void set_time(std::size_t n, std::optional<std::int64_t> ns);
  /// Returns the numbers to agree on.
  [[nodiscard]] std::span<std::int64_t> numbers() { return numbers_; }
  /// Says how agreeing went on this rank, while calls in a row went on in the way in use.
  struct Meanwhile {
    std::uint64_t calls = 0;
    std::uint64_t until_agreed = 0;  ///< so many of them until the last rank had come as far
  };
  /// Draws the conclusions from the numbers that all ranks have agreed on, which held this rank up for `agreement_ns`.
  void take_in(std::int64_t agreement_ns, const Meanwhile& meanwhile = {0, 0});
  /// Returns during how many calls the ranks may agree without holding each other up; the same on all ranks.
  [[nodiscard]] std::uint64_t calls_to_agree() const { return 2 * static_cast<std::uint64_t>(overlap_ + 2); }
  /// Goes on, with what was known, after being broken off in the middle of a round. `since` has just ended its first
  /// round with the same ways.
  void resume(const Turns& since);
  /// Returns a number above 0 that is the same for equal knowledge, and hardly ever for other.
  [[nodiscard]] std::int64_t fingerprint() const;
  /// Replaces that where the ranks cannot agree now: the times are thrown away.
  void skip();

  [[nodiscard]] int in_use() const { return in_use_; }
  [[nodiscard]] bool in_rows() const { return lead_ > 0; }  ///< as Terms
  /// Tells whether some comparison has ended since the network last changed: the way in use is more than a guess.
  [[nodiscard]] bool knows() const;

  /// Says what was measured of a way while it took turns with the one in use, since the network last changed.
  struct Shown {
    int pairs = 0;
    double seconds = 0;         ///< typical time of a call, of the slowest rank
    double in_use_seconds = 0;  ///< the same of the way that was in use then
    PairedTest::Verdict verdict = PairedTest::Verdict::open;
  };
  [[nodiscard]] const Shown& shown(int contender) const { return at(contender).shown; }
  /// Returns the time that calls took, and the part of it that was lost by trying and agreeing, in nanoseconds.
  [[nodiscard]] double taken_ns() const { return taken_ns_; }
  [[nodiscard]] double lost_ns() const { return lost_ns_; }

 private:
  /// Calls of this round, one after the other, whose time is wanted.
  struct Slot {
    std::uint64_t call;  ///< the first
    std::uint64_t calls;
    int contender;
    bool leads = false;  ///< from one way to the other: this time is not compared, but it may be lost
  };
  struct Contender {
    PairedTest test;
    double octaves = 0;  ///< sum of the logarithms of its times in the test, in nanoseconds
    Shown shown;
    double assumed = 0;            ///< in octaves above the one in use, before there are pairs
    bool glimpsed = false;         ///< a single call has shown what is assumed
    std::uint64_t next_try = 0;    ///< number of calls before which it is not tried
    int failures = 0;              ///< calls that it could not do, one after the other
    bool in_lasting_rows = false;  ///< shorter ones have shown it to be somewhat faster

    /// Returns one of which nothing is known but what is assumed.
    [[nodiscard]] static Contender again(double assumed, std::uint64_t next_try, bool glimpsed = true) {
      Contender fresh;
      fresh.assumed = assumed;
      fresh.glimpsed = glimpsed;
      fresh.next_try = next_try;
      return fresh;
    }
  };

  [[nodiscard]] const Contender& at(int contender) const { return contenders_[static_cast<std::size_t>(contender)]; }
  [[nodiscard]] Contender& at(int contender) { return contenders_[static_cast<std::size_t>(contender)]; }
  static constexpr std::size_t heads = 2;  ///< numbers before those of the slots
  [[nodiscard]] std::int64_t time_of(std::size_t slot) const { return numbers_[slot + heads]; }
  [[nodiscard]] double ns_per_call(std::size_t slot) const {
    return static_cast<double>(time_of(slot)) / static_cast<double>(slots_[slot].calls);
  }
  void take_time(std::int64_t ns);
  [[nodiscard]] std::vector<std::size_t> compared_slots() const;
  void find_typical();
  void account();
  void compare_with_expectations();
  bool watch();
  void forget();
  void compare();
  void conclude(Contender& contender);
  void begin_round();
  void compare_glimpse(Contender& contender);
  [[nodiscard]] bool glimpses(const Contender& contender) const { return lead_ > 0 && !contender.glimpsed; }
  [[nodiscard]] double expected_loss_ns(const Contender& contender) const;
  [[nodiscard]] double lead_loss() const { return lead_loss_ < 0 ? 2 * overlap_ : lead_loss_; }
  [[nodiscard]] double unit_loss_ns(const Contender& contender) const;
  [[nodiscard]] std::uint64_t unit_calls(const Contender& contender) const;
  [[nodiscard]] std::uint64_t lasting_row() const;
  [[nodiscard]] std::uint64_t row_of(const Contender& contender) const {
    return contender.in_lasting_rows ? lasting_row() : row_;
  }
  [[nodiscard]] std::optional<std::uint64_t> calls_before(const Contender& contender, int units, double most) const;
  void add_slot(std::uint64_t& call, std::uint64_t calls, int contender, bool leads = false);
  void add_unit(const Contender& contender, std::uint64_t first);
  bool plan_trial(const Contender& contender, double most_calls);
  void plan_watch(double calls);
  void watch_last_calls();
  void forget_times();
  /// Of what agreeing takes, the greatest counts in rows, else the least.
  void offer_agreement_ns(std::int64_t ns) { numbers_[0] = in_rows() ? ns : -ns; }
  [[nodiscard]] int next_to_try() const;

  std::vector<Contender> contenders_;
  std::uint64_t row_;      ///< calls of a time
  std::uint64_t lead_;     ///< calls from one way to the other
  double lasting_row_ns_;  ///< as Terms
  int agreements_ = 0;     ///< the second one tells the overlap of the first
  double overlap_ = 0;     ///< calls by which the first rank is ahead of the last one
  double lead_loss_ = -1;  ///< what the leads of a unit took longer than usual, in calls; below 0: not known
  int in_use_ = 0;
  std::uint64_t calls_ = 0;   ///< before this round
  std::uint64_t call_ = 0;    ///< of this round
  std::uint64_t length_ = 0;  ///< calls of this round
  std::vector<Slot> slots_;
  std::size_t slot_ = 0;
  std::vector<std::int64_t> numbers_;  ///< the time that agreeing took; the overlap; each slot's time
  ChangeWatch watch_;
  int tried_ = -1;  ///< the contender of this round
  std::int64_t least_agreement_ns_;
  std::int64_t agreement_ns_;
  double typical_ns_ = 0;  ///< median of the last round's times in use
  double expected_ns_;     ///< as Terms, until the first times show what that was worth
  double expected_other_ns_;
  double taken_ns_ = 0;
  double lost_ns_ = 0;
};

/// Sizes that share what is learned: there are two classes in each power of two. A size that is unknown or 0 has a
/// class of its own.
struct SizeClass {
  std::int64_t least = 0;
  std::int64_t most = 0;
  static SizeClass of(std::int64_t bytes);
  bool operator==(const SizeClass&) const = default;
};

/// Returns the logarithm to base 2 of a positive number, and its inverse. Unlike the C library's, whose code depends on
/// the processor, these give the same bits on all ranks of a job.
double log2_alike(double value);
double exp2_alike(double octaves);

}  // namespace antiphon
