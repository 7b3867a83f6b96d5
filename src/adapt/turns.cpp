// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "antiphon/adapt.hpp"

namespace antiphon {

namespace {

/// Trying and agreeing may take this share of the time of all calls; agreeing alone, while nothing is tried, the next.
constexpr double trying_share = 0.0145;
constexpr double watching_share = 0.003;
/// A way that was never tried is taken to be 2.5 times as slow, and 1.5 times after the network has changed: in
/// octaves.
constexpr double at_first = 1.32;
constexpr double after_change = 0.585;
/// What a model expects of a contender has this weight beside that. Where it expects nothing of the contender, calls
/// that take longer than expected speak for it, with less weight: both may do so for the same reason.
constexpr double weight_of_expected = 0.75;
constexpr double weight_of_surprise = 0.5;
/// A call counts as at most so many times as slow, or as fast, as those beside it, so that an outlier decides nothing.
constexpr double most_ratio = 4;
constexpr double most_octaves = 2;
constexpr double most_glimpsed = 4;
/// What is assumed weighs as much as half a pair.
constexpr double weight_of_assumed = 0.5;
/// Trying costs at least this part of a call: ways that seem equal or faster may not be.
constexpr double least_loss = 0.05;
/// In a round, a way gets at most this many calls, each between two calls of the way in use: few, since much may change
/// meanwhile, unless agreeing takes long.
constexpr double least_units = 3;
constexpr double most_units = 9;
constexpr double units_per_agreement = 4;  ///< for each call that agreeing takes as long as
/// Where calls overlap, this many in a row have one time, after so many that lead to them: in those what is under way
/// of the other way comes to its end, and the row begins to flow.
constexpr std::uint64_t calls_in_row = 6;
constexpr std::uint64_t calls_of_lead = 2;
/// A row that lasts for some time has at most this many calls.
constexpr std::uint64_t most_calls_in_row = 4096;
/// Shorter rows are believed where one way is twice as fast: in octaves.
constexpr double clear_in_short_rows = 1;
/// After a comparison has ended, there must be so many times as many calls before the next.
constexpr std::uint64_t back_off = 4;
/// A way that could not do so many calls, one after the other, is not tried any more.
constexpr int most_failures = 8;
constexpr std::uint64_t never = UINT64_MAX;
/// While nothing is tried, so many calls of a round are timed, its last ones.
constexpr std::uint64_t watched_calls = 8;
constexpr std::uint64_t longest_round = 65536;
/// Of the first calls at least one may take longer because it makes connections; the median of three is none of those.
constexpr int least_first_round = 3;
/// A longer time is taken as this, so that sums stay numbers: 100 hours.
constexpr std::int64_t longest_ns = std::int64_t{360'000} * 1'000'000'000;
/// Is more than any time, so that it is the maximum of all ranks where one of them does not know.
constexpr std::int64_t not_known = INT64_MAX;

}  // namespace

Turns::Turns(const Terms& terms)
    : contenders_(static_cast<std::size_t>(terms.contenders)), row_(terms.in_rows ? calls_in_row : 1),
      lead_(terms.in_rows ? calls_of_lead : 0), lasting_row_ns_(terms.lasting_row_ns),
      least_agreement_ns_(terms.agreement_ns), agreement_ns_(terms.agreement_ns), expected_ns_(terms.expected_ns),
      expected_other_ns_(terms.expected_other_ns) {
  for (Contender& c : contenders_) c.assumed = at_first;
  begin_round();
  // No call was seen yet, so this replaces the length that follows from their time.
  const auto least = std::max(static_cast<std::uint64_t>(least_first_round), row_);
  length_ = std::max(static_cast<std::uint64_t>(terms.first_round), least);
  slots_.clear();
  watch_last_calls();
  forget_times();
  offer_agreement_ns(agreement_ns_);
}

void Turns::take_time(std::int64_t ns) {
  const Slot& slot = slots_[slot_];
  std::int64_t& sum = numbers_[slot_ + heads];
  if (call_ == slot.call) sum = 0;
  sum = ns == no_time || sum == no_time ? no_time : std::min(sum + std::min(ns, longest_ns), longest_ns);
  if (call_ + 1 == slot.call + slot.calls) ++slot_;
}

void Turns::set_time(std::size_t n, std::optional<std::int64_t> ns) {
  numbers_[n + heads] = ns ? std::clamp<std::int64_t>(*ns, 1, longest_ns) : not_known;
}

void Turns::skip() {
  tried_ = -1;
  calls_ += length_;
  begin_round();
}

void Turns::take_in(std::int64_t agreement_ns, const Meanwhile& meanwhile) {
  // Where ranks wait for the last one to come, the least time of all is what agreeing takes. In rows nobody should
  // wait, and the messages cost time that nobody sees.
  agreement_ns_ = lead_ > 0 ? std::max(numbers_[0], least_agreement_ns_) : std::max<std::int64_t>(0, -numbers_[0]);
  agreements_ += meanwhile.calls > 0 ? 1 : 0;
  // To agree takes about a call where none overlap.
  overlap_ = static_cast<double>(std::max<std::int64_t>(1, numbers_[1]) - 1);
  std::replace(numbers_.begin() + heads, numbers_.end(), not_known, std::int64_t{0});
  account();
  compare_with_expectations();
  calls_ += length_ + meanwhile.calls;
  taken_ns_ += typical_ns_ * static_cast<double>(meanwhile.calls);
  if (watch()) forget();
  else if (tried_ >= 0) compare();
  begin_round();
  offer_agreement_ns(agreement_ns);
  numbers_[1] = static_cast<std::int64_t>(meanwhile.until_agreed);
}

void Turns::resume(const Turns& since) {
  // The times of the round that was broken off are not agreed on; they are taken to be as before.
  std::uint64_t tried = 0;
  for (std::size_t i = 0; i < slot_; ++i) tried += slots_[i].contender == tried_ ? slots_[i].calls : 0;
  if (tried > 0) lost_ns_ += static_cast<double>(tried) * expected_loss_ns(at(tried_));
  taken_ns_ += typical_ns_ * static_cast<double>(call_) + since.taken_ns_;
  lost_ns_ += since.lost_ns_;
  calls_ += call_ + since.calls_;
  begin_round();
  offer_agreement_ns(agreement_ns_);
}

std::int64_t Turns::fingerprint() const {
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t value) { hash = (std::rotl(hash, 5) ^ value) * 0x9E3779B97F4A7C15U; };
  const auto add_real = [&](double value) { add(std::bit_cast<std::uint64_t>(value)); };
  for (const Contender& c : contenders_) {
    add(static_cast<std::uint64_t>(c.test.pairs()));
    add(c.next_try);
    for (const double value : {c.test.mean(), c.assumed, c.shown.seconds, c.shown.in_use_seconds}) add_real(value);
  }
  add(static_cast<std::uint64_t>(in_use_));
  add(calls_);
  for (const double value : {typical_ns_, taken_ns_, lost_ns_, overlap_, lead_loss_}) add_real(value);
  return static_cast<std::int64_t>(hash >> 1) | 1;
}

bool Turns::knows() const {
  return std::any_of(contenders_.begin(), contenders_.end(),
                     [](const Contender& c) { return c.shown.verdict != PairedTest::Verdict::open; });
}

/// Returns the slots whose times are compared.
std::vector<std::size_t> Turns::compared_slots() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].leads) found.push_back(i);
  }
  return found;
}

/// Finds out what a call of the way in use takes.
void Turns::find_typical() {
  std::vector<double> in_use;
  for (const std::size_t i : compared_slots()) {
    if (slots_[i].contender == in_use_ && time_of(i) > 0) in_use.push_back(ns_per_call(i));
  }
  if (in_use.empty()) return;
  const auto middle = in_use.begin() + static_cast<std::ptrdiff_t>(in_use.size() / 2);
  std::nth_element(in_use.begin(), middle, in_use.end());
  typical_ns_ = *middle;
}

/// Adds up what this round's calls took, and what was lost.
void Turns::account() {
  find_typical();
  // Outliers must not count: the share of trying refers to this time, and one may also come in a call that is tried.
  taken_ns_ += typical_ns_ * static_cast<double>(length_);
  double lost_ns = 0;
  double lead_ns = 0;
  double leads = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (time_of(i) <= 0 || (slot.contender == in_use_ && !slot.leads)) continue;
    const double most_ns = most_ratio * typical_ns_ * static_cast<double>(std::max(row_, slot.calls));
    const double more_ns =
        std::min(static_cast<double>(time_of(i)), most_ns) - typical_ns_ * static_cast<double>(slot.calls);
    lost_ns += more_ns;
    if (slot.leads) lead_ns += more_ns;
    leads += slot.leads ? 1 : 0;
  }
  lost_ns_ += std::max(0.0, lost_ns) + static_cast<double>(agreement_ns_);
  if (leads > 0 && typical_ns_ > 0) lead_loss_ = std::max(0.0, 2 * lead_ns / leads / typical_ns_);
}

/// Replaces, once there are times, what is assumed of the contenders by what the model expects of them. Where it knows
/// nothing of them, calls that take longer than it expects speak for them: it has chosen by a wrong time.
void Turns::compare_with_expectations() {
  if (typical_ns_ <= 0) return;
  const auto over_typical = [&](double ns) { return log2_alike(ns) - log2_alike(typical_ns_); };
  double assumed = at_first;
  if (expected_other_ns_ > 0) assumed += weight_of_expected * (over_typical(expected_other_ns_) - at_first);
  else if (expected_ns_ > 0) assumed += weight_of_surprise * std::min(0.0, over_typical(expected_ns_));
  else return;
  expected_ns_ = expected_other_ns_ = 0;
  for (Contender& c : contenders_) c.assumed = assumed;
}

/// Looks at the times of the way in use, and tells whether they have changed.
bool Turns::watch() {
  bool changed = false;
  for (const std::size_t i : compared_slots()) {
    if (slots_[i].contender != in_use_ || slots_[i].calls != row_ || time_of(i) <= 0) continue;
    changed = watch_.add(log2_alike(ns_per_call(i))) || changed;
  }
  return changed;
}

/// What was found does not hold any more: all may be tried again.
void Turns::forget() {
  for (Contender& c : contenders_) {
    const bool known = c.test.pairs() > 0 || c.shown.pairs > 0;
    const double before = c.test.pairs() > 0 ? c.test.mean() : c.assumed;
    const double assumed = known ? std::max(after_change, (after_change + before) / 2) : c.assumed;
    c = Contender::again(assumed, c.next_try == never ? never : 0, known);
  }
}

/// Compares the contender's times of this round with those before and after each, so that drift cancels.
void Turns::compare() {
  Contender& c = at(tried_);
  if (glimpses(c)) return compare_glimpse(c);
  const std::vector<std::size_t> compared = compared_slots();
  for (std::size_t i = 1; i + 1 < compared.size(); ++i) {
    const std::size_t before = compared[i - 1], tried = compared[i], after = compared[i + 1];
    if (slots_[tried].contender != tried_) continue;
    c.failures = time_of(tried) == no_time ? c.failures + 1 : 0;
    if (time_of(before) <= 0 || time_of(tried) <= 0 || time_of(after) <= 0) continue;
    const double own = log2_alike(ns_per_call(tried));
    const double beside = (log2_alike(ns_per_call(before)) + log2_alike(ns_per_call(after))) / 2;
    c.test.add(std::clamp(own - beside, -most_octaves, most_octaves));
    c.octaves += own;
  }
  if (c.failures >= most_failures) c.next_try = never;
  if (c.test.pairs() > 0) conclude(c);
}

/// Takes a single call of the contender for what one of a row takes at most, so that rows are tried when they can be
/// paid for.
void Turns::compare_glimpse(Contender& c) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].contender != tried_) continue;
    c.failures = time_of(i) == no_time ? c.failures + 1 : 0;
    if (time_of(i) <= 0) continue;
    // The call also waits for those of the way in use that are still under way.
    const double own_ns = std::max(typical_ns_ / most_ratio, ns_per_call(i) - overlap_ * typical_ns_);
    c.assumed = std::min(log2_alike(own_ns) - log2_alike(typical_ns_), most_glimpsed);
    c.glimpsed = true;
  }
  if (c.failures >= most_failures) c.next_try = never;
}

/// Acts on what the test says by now.
void Turns::conclude(Contender& c) {
  constexpr double s_per_ns = 1e-9;
  const auto verdict = c.test.verdict();
  const bool over = verdict != PairedTest::Verdict::open;
  const double octaves = c.octaves / c.test.pairs();
  const Shown now{c.test.pairs(), s_per_ns * exp2_alike(octaves), s_per_ns * exp2_alike(octaves - c.test.mean()),
                  verdict};
  if (over || c.shown.verdict == PairedTest::Verdict::open) c.shown = now;
  if (!over) return;
  const double mean = c.test.mean();
  const std::uint64_t next_try = back_off * calls_;
  if (verdict == PairedTest::Verdict::slower) {
    c = Contender::again(mean, next_try);
    c.shown = now;
    return;
  }
  if (row_of(c) < lasting_row() && mean > -clear_in_short_rows) {
    c = Contender::again(mean, calls_);
    c.shown = {now.pairs, now.seconds, now.in_use_seconds, PairedTest::Verdict::open};
    c.in_lasting_rows = true;
    return;
  }
  c = {};
  at(in_use_) = Contender::again(-mean, next_try);
  at(in_use_).shown = {now.pairs, now.in_use_seconds, now.seconds, PairedTest::Verdict::slower};
  in_use_ = tried_;
  typical_ns_ *= exp2_alike(mean);
  watch_ = {};
}

/// Returns the contender whose turn to be tried it is, or −1.
int Turns::next_to_try() const {
  int found = -1;
  for (int i = 0; i < static_cast<int>(contenders_.size()); ++i) {
    if (i == in_use_ || at(i).next_try > calls_) continue;
    if (found < 0 || at(i).test.pairs() < at(found).test.pairs()) found = i;
  }
  return found;
}

/// Returns what a call of the contender is expected to cost, compared with the way in use.
double Turns::expected_loss_ns(const Contender& c) const {
  const int pairs = c.test.pairs();
  const double octaves = (c.test.mean() * pairs + c.assumed * weight_of_assumed) / (pairs + weight_of_assumed);
  return typical_ns_ * std::max(least_loss, exp2_alike(octaves) - 1);
}

/// Returns what a unit is expected to cost, the contender's calls with those of the way in use beside them.
double Turns::unit_loss_ns(const Contender& c) const {
  const auto tried = static_cast<double>(glimpses(c) ? 1 : row_of(c));
  return tried * expected_loss_ns(c) + lead_loss() * typical_ns_;
}

std::uint64_t Turns::unit_calls(const Contender& c) const {
  return glimpses(c) ? row_ + 1 + lead_ : 3 * row_of(c) + 2 * lead_;
}

/// Returns how many calls a row has that lasts as long as it should.
std::uint64_t Turns::lasting_row() const {
  const double calls = std::ceil(lasting_row_ns_ / typical_ns_);
  return std::max(row_, static_cast<std::uint64_t>(std::min(calls, static_cast<double>(most_calls_in_row))));
}

/// Returns after how many more calls so many units can be paid for; none at all if that takes longer than `most`.
std::optional<std::uint64_t> Turns::calls_before(const Contender& c, int units, double most) const {
  const double needed_ns = lost_ns_ + static_cast<double>(agreement_ns_) + units * unit_loss_ns(c);
  const double calls =
      (needed_ns / trying_share - taken_ns_) / typical_ns_ - static_cast<double>(unit_calls(c)) * units;
  if (calls > most) return std::nullopt;
  return static_cast<std::uint64_t>(std::max(0.0, std::ceil(calls)));
}

/// Wants the time of the next calls.
void Turns::add_slot(std::uint64_t& call, std::uint64_t calls, int contender, bool leads) {
  if (calls > 0) slots_.push_back({call, calls, contender, leads});
  call += calls;
}

/// Lets the contender have its calls between those of the way in use.
void Turns::add_unit(const Contender& c, std::uint64_t first) {
  const std::uint64_t row = row_of(c);
  add_slot(first, row, in_use_);
  if (glimpses(c)) {
    add_slot(first, 1, tried_);
    return add_slot(first, lead_, in_use_, true);
  }
  add_slot(first, lead_, tried_, true);
  add_slot(first, row, tried_);
  add_slot(first, lead_, in_use_, true);
  add_slot(first, row, in_use_);
}

/// Plans a round in which the contender gets its calls at the end. Returns false if that must wait.
bool Turns::plan_trial(const Contender& c, double most_calls) {
  const double agreement_calls = static_cast<double>(agreement_ns_) / typical_ns_;
  const double worth_it = std::clamp(units_per_agreement * agreement_calls, least_units, most_units);
  const int most = glimpses(c) ? 1 : std::min(static_cast<int>(worth_it), 1 + 2 * c.test.pairs());
  for (int units = most; units > 0; units = units > 1 ? 1 : 0) {
    const auto before = calls_before(c, units, most_calls);
    if (!before) continue;
    for (int unit = 0; unit < units; ++unit) add_unit(c, *before + static_cast<std::uint64_t>(unit) * unit_calls(c));
    length_ = slots_.back().call + slots_.back().calls;
    return true;
  }
  return false;
}

/// Plans a round in which the last calls are only looked at.
void Turns::plan_watch(double calls) {
  tried_ = -1;
  length_ = static_cast<std::uint64_t>(
      std::clamp(calls, static_cast<double>(watched_calls), static_cast<double>(longest_round)));
  watch_last_calls();
}

/// Wants the times of this round's last calls, in whole rows.
void Turns::watch_last_calls() {
  const std::uint64_t rows = std::min(length_, watched_calls) / row_;
  for (std::uint64_t call = length_ - rows * row_; call < length_;) add_slot(call, row_, in_use_);
}

/// No call of this round has a time yet.
void Turns::forget_times() {
  numbers_.resize(slots_.size() + heads);
  std::fill(numbers_.begin() + heads, numbers_.end(), no_time);
}

void Turns::begin_round() {
  slots_.clear();
  tried_ = next_to_try();
  const bool timed = typical_ns_ > 0;  // else no call was done as chosen
  const double affordable =
      timed ? static_cast<double>(agreement_ns_) / (watching_share * typical_ns_) : 2 * static_cast<double>(length_);
  const double most = std::max(affordable, static_cast<double>(watched_calls));
  const bool overlap_known = lead_ == 0 || agreements_ > 1;
  if (!timed || !overlap_known || tried_ < 0 || !plan_trial(at(tried_), most)) plan_watch(most);
  call_ = 0;
  slot_ = 0;
  forget_times();
}

}  // namespace antiphon
