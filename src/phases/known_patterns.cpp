// SPDX-License-Identifier: Apache-2.0
#include "antiphon/known_patterns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "antiphon/advice.hpp"
#include "phases/gathering.hpp"
#include "phases/ports.hpp"

namespace antiphon {

namespace {

/// What scheduling takes for each message, where ranks share cores.
constexpr double scheduling_s = 10e-6;
/// Phases of a schedule take this many times as long as the link needs. What rotated phases take beyond is gained.
constexpr double scheduled_share = 1.1;

/// Returns how long ranks take that go through rotated phases in step: a phase is as long as its busiest port.
double rotated_seconds(const Pattern& pattern, const Fabric& fabric) {
  std::vector<Pattern> phases(static_cast<std::size_t>(pattern.size));
  for (const PatternMessage& m : pattern.messages)
    phases[static_cast<std::size_t>((m.to - m.from + pattern.size) % pattern.size)].messages.push_back(m);
  const Ports ports(fabric, pattern.size);
  double seconds = 0;
  for (const Pattern& phase : phases) {
    const Loads loads(ports, phase);
    seconds += std::max(static_cast<double>(loads.most_node_bytes()) * ports.seconds_per_byte(),
                        static_cast<double>(loads.most_uplink_bytes()) * ports.uplink_seconds_per_byte());
  }
  return seconds;
}

bool are_crowded(int size, const Fabric& fabric) { return most_ranks_on_a_node(size, fabric) >= many_ranks_on_a_node; }

/// What a row holds after the counts.
enum Told : std::size_t { most_sent, noted_calls };

constexpr unsigned bits_a_call = KnownPatterns::most;
constexpr std::uint64_t call_mask = (std::uint64_t{1} << bits_a_call) - 1;

/// Returns the patterns that a call had, so many calls before the last.
std::uint64_t noted_at(std::uint64_t noted, std::uint64_t calls_before) {
  return noted >> (bits_a_call * calls_before) & call_mask;
}

/// Returns the bits of one pattern in all calls.
std::uint64_t bits_of(int place) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < KnownPatterns::calls_noted; ++i) bits |= std::uint64_t{1} << (bits_a_call * i);
  return bits << place;
}

/// Tells whether calls with these patterns may have had the same one.
bool alike(std::uint64_t a, std::uint64_t b) { return (a & b) != 0 || (a | b) == 0; }

int lowest(std::uint64_t bits) {
  for (int place = 0; place < KnownPatterns::most; ++place) {
    if ((bits >> place & 1) != 0) return place;
  }
  return -1;
}

}  // namespace

std::int64_t short_pattern_bytes(const Fabric& fabric) {
  constexpr std::int64_t on_slow_links = 8192;
  constexpr double short_s = 0.5e-3;
  return std::max(on_slow_links, static_cast<std::int64_t>(fabric.link_bytes_per_s * short_s));
}

bool is_short(const Pattern& pattern, const Fabric& fabric) {
  if (lower_bound(pattern, fabric).node_bytes <= short_pattern_bytes(fabric)) return true;
  return are_crowded(pattern.size, fabric) &&
         std::all_of(pattern.messages.begin(), pattern.messages.end(),
                     [](const PatternMessage& m) { return m.bytes <= short_message_bytes; });
}

KnownPatterns::KnownPatterns(int rank, int size, const Fabric& fabric)
    : rank_(rank), size_(size), most_on_a_node_(most_ranks_on_a_node(size, fabric)), fabric_(fabric) {}

void KnownPatterns::begin_call() {
  ++call_;
  noted_ <<= bits_a_call;
}

bool KnownPatterns::pass(std::int64_t sent_bytes) {
  // A gathering that was begun before the last call is to be taken in before this one.
  const bool under_way = next_gathering_ <= call_;
  if (!is_short_ || under_way || call_ + 1 == next_gathering_) return false;
  begin_call();
  noted_since_ = call_ + 1;
  most_sent_bytes_ = std::max(most_sent_bytes_, sent_bytes);
  return true;
}

void KnownPatterns::tell(const Problem& p, std::span<std::int64_t> row) {
  if (is_large()) return tell_sparse(p, row);
  std::copy(p.send_bytes.begin(), p.send_bytes.end(), row.begin());
  row[static_cast<std::size_t>(rank_)] = 0;
  const std::span<std::int64_t> more = row.subspan(static_cast<std::size_t>(size_));
  told_for_ = call_;
  more[most_sent] = std::exchange(most_sent_bytes_, 0);
  more[noted_calls] = static_cast<std::int64_t>(noted_ >> bits_a_call);  // this call is not noted yet
}

void KnownPatterns::note(const Problem& p) {
  std::int64_t sent = 0;
  for (int i = 0; i < size_; ++i) sent += i == rank_ ? 0 : p.send_bytes[static_cast<std::size_t>(i)];
  if (told_for_ != call_) most_sent_bytes_ = std::max(most_sent_bytes_, sent);
  for (int place = 0; place < most; ++place) {
    if (is_nearly(known_[static_cast<std::size_t>(place)], p)) noted_ |= Noted{1} << place;
  }
}

/// Tells whether this rank's counts are nearly those of the pattern.
bool KnownPatterns::is_nearly(const Known& known, const Problem& p) const {
  if (known.number == 0) return false;
  std::int64_t deviation = 0;
  std::int64_t own = 0;
  for (int i = 0; i < size_; ++i) {
    if (i == rank_) continue;
    const std::int64_t out = count(known, rank_, i);
    const std::int64_t in = count(known, i, rank_);
    own += out + in;
    deviation += std::abs(out - p.send_bytes[static_cast<std::size_t>(i)]) +
                 std::abs(in - p.recv_bytes[static_cast<std::size_t>(i)]);
  }
  return nearly_same(deviation, own, known.busiest_bytes);
}

void KnownPatterns::take_in(std::span<const std::int64_t> rows) {
  if (is_large()) return take_in_sparse(rows);
  const auto ranks = static_cast<std::size_t>(size_);
  std::vector<std::int64_t> counts;
  counts.reserve(ranks * ranks);
  Noted agreed = ~Noted{0};
  bool was_short = true;
  for (std::size_t i = 0; i < ranks; ++i) {
    const auto row = rows.subspan(i * row_length(), row_length());
    counts.insert(counts.end(), row.begin(), row.begin() + size_);
    agreed &= static_cast<Noted>(row[ranks + noted_calls]);
    const std::int64_t sends = std::accumulate(row.begin(), row.begin() + size_, std::int64_t{0});
    was_short = was_short && row[ranks + most_sent] <= std::max(short_pattern_bytes(fabric_), 2 * sends);
  }
  gathered_for_ = next_gathering_;
  Pattern pattern = Pattern::of_counts(size_, counts);
  is_short_ = was_short && is_short(pattern, fabric_);
  is_long_ = pattern.total_bytes() >= least_scheduled_bytes;
  const std::int64_t pairs = std::int64_t{size_} * (size_ - 1);
  mean_bytes_ = 2 * std::ssize(pattern.messages) >= pairs ? pattern.total_bytes() / pairs : 0;
  bool is_new = false;
  gathered_ = learn(std::move(pattern), std::move(counts), agreed, is_new);
  find_period(agreed << bits_a_call | Noted{1} << gathered_);
  plan_gathering(known_[static_cast<std::size_t>(gathered_)], is_new);
}

/// Finds the place of a pattern that is nearly the same, or makes one in the place of the pattern that was seen least
/// recently. Returns the place.
int KnownPatterns::learn(Pattern pattern, std::vector<std::int64_t> counts, Noted& agreed, bool& is_new) {
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return nearly(k, counts); });
  is_new = same == known_.end();
  const auto at = !is_new ? same : std::min_element(known_.begin(), known_.end(), [](const Known& a, const Known& b) {
    return a.last_seen < b.last_seen;
  });
  const auto place = static_cast<int>(at - known_.begin());
  if (is_new) {
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(size_));
    for (const PatternMessage& m : pattern.messages) {
      bytes[static_cast<std::size_t>(m.from)] += m.bytes;
      bytes[static_cast<std::size_t>(m.to)] += m.bytes;
    }
    *at = {std::move(counts), std::move(pattern), *std::max_element(bytes.begin(), bytes.end()), ++patterns_};
    at->least_s = lower_bound(at->pattern, fabric_).seconds;
    agreed &= ~bits_of(place);
    noted_ &= ~bits_of(place);
    noted_since_ = gathered_for_;
  }
  // A pattern that comes again is worth more trouble; in large communicators only such patterns are gathered.
  if (!at->worth_scheduling)
    at->worth_scheduling = is_long_ && is_worth_scheduling(at->pattern, is_new && !is_large() ? 1 : calls_noted);
  at->last_seen = gathered_for_;
  noted_ |= Noted{1} << (static_cast<unsigned>(place) + bits_a_call * (call_ - gathered_for_));
  return place;
}

/// Finds in what turns patterns came up to the last gathering: the shortest period that all noted calls have.
void KnownPatterns::find_period(Noted agreed) {
  turns_.clear();
  const auto calls = std::min<std::uint64_t>(calls_noted, gathered_for_ - noted_since_ + 1);
  for (std::uint64_t period = 1; 2 * period <= calls; ++period) {
    bool has = true;
    for (std::uint64_t i = 0; has && i + period < calls; ++i)
      has = alike(noted_at(agreed, i), noted_at(agreed, i + period));
    if (!has) continue;
    for (std::uint64_t i = period; i-- > 0;) turns_.push_back(lowest(noted_at(agreed, i)));
    return;
  }
}

/// Returns the place of the pattern that a call is expected to have, or −1.
int KnownPatterns::place_of(std::uint64_t call) const {
  if (turns_.empty() || call <= gathered_for_) return gathered_;
  return turns_[(call - gathered_for_ - 1) % turns_.size()];
}

std::optional<KnownPatterns::Scheduled> KnownPatterns::expected() const {
  const int place = place_of(call_);
  if (place < 0) return std::nullopt;
  const Known& known = known_[static_cast<std::size_t>(place)];
  return Scheduled{place, known.number, &known.pattern};
}

std::optional<KnownPatterns::Scheduled> KnownPatterns::pattern() const {
  const auto found = expected();
  return found && known_[static_cast<std::size_t>(found->place)].worth_scheduling ? found : std::nullopt;
}

double KnownPatterns::even_call_s() const {
  const int place = place_of(call_);
  if (place < 0 || (noted_ >> place & 1) == 0) return 0;
  const Known& known = known_[static_cast<std::size_t>(place)];
  return known.worth_scheduling ? 0 : known.least_s;
}

bool KnownPatterns::is_worth_scheduling(const Pattern& pattern, double calls) const {
  const double gained_s = rotated_seconds(pattern, fabric_) - scheduled_share * lower_bound(pattern, fabric_).seconds;
  return calls * gained_s > scheduling_s * static_cast<double>(pattern.messages.size());
}

void KnownPatterns::plan_gathering(const Known& known, bool is_new) {
  // A pattern that is worth it at once is gathered for each call as long as it changes each time.
  const bool again = is_new && known.worth_scheduling && gathered_for_ > 1;
  // Many ranks' gathering takes about as long as a short call of theirs.
  const bool useful = is_short_ ? !are_crowded(size_, fabric_) : is_long_;
  const double call_s = lower_bound(known.pattern, fabric_).seconds;
  const double spent_s = gathering_seconds(size_, static_cast<std::size_t>(size_), fabric_);
  next_gathering_ = gathered_for_ + (again ? 1 : calls_between(call_s, spent_s, gathered_for_, useful));
  next_gathering_ = std::max(next_gathering_, call_);
  // Of patterns that take turns, the next one to gather is one that is not known.
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    if (place_of(next_gathering_ + i) >= 0) continue;
    next_gathering_ += i;
    break;
  }
  waits_ = known.worth_scheduling && turns_.empty();
}

std::int64_t KnownPatterns::count(const Known& known, int from, int to) const {
  return known.counts[static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(to)];
}

/// Tells whether the counts of all ranks are nearly those of the pattern.
bool KnownPatterns::nearly(const Known& known, std::span<const std::int64_t> counts) const {
  if (known.number == 0) return false;
  const auto ranks = static_cast<std::size_t>(size_);
  std::vector<std::int64_t> deviation(ranks), own(ranks);
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      const std::int64_t bytes = known.counts[from * ranks + to];
      const std::int64_t differs = std::abs(bytes - counts[from * ranks + to]);
      deviation[from] += differs, deviation[to] += differs;
      own[from] += bytes, own[to] += bytes;
    }
  }
  for (std::size_t i = 0; i < ranks; ++i) {
    if (!nearly_same(deviation[i], own[i], known.busiest_bytes)) return false;
  }
  return true;
}

}  // namespace antiphon
