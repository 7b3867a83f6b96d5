// SPDX-License-Identifier: Apache-2.0
// What ranks of large communicators agree on before they gather counts, and what they gather then.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "antiphon/advice.hpp"
#include "antiphon/known_patterns.hpp"
#include "phases/gathering.hpp"

namespace antiphon {

namespace {

/// The places of a digest's numbers. All are sums over ranks.
enum Number : std::size_t {
  far_bytes,   ///< sent to other nodes
  long_calls,  ///< ranks whose call is not short, or had a much longer one since the last digest
  changed,     ///< ranks with other counts than at the last digest
  not_place,   ///< for each pattern that is known: ranks with other counts than its
  more_than = not_place + KnownPatterns::most,  ///< for each width: ranks that send more messages
};
constexpr std::size_t widths = KnownPatterns::digest_length - more_than;
constexpr std::size_t least_width = 8;

/// Rows may take at most this part of the first call that they are for.
constexpr double most_of_a_call = 0.5;

/// A message in a row: the receiver's rank in the high bits, the bytes in the low ones. −1: none.
constexpr unsigned bytes_bits = 44;
constexpr std::int64_t most_bytes = (std::int64_t{1} << bytes_bits) - 1;

std::size_t width_of(std::size_t number, int size) {
  return number == widths ? static_cast<std::size_t>(size - 1) : least_width << number;
}

}  // namespace

void KnownPatterns::expect(const Pattern& pattern) {
  const auto ranks = static_cast<std::size_t>(size_);
  if (patterns_ == most || static_cast<std::size_t>(pattern.size) != ranks) return;
  std::vector<std::int64_t> counts(ranks * ranks);
  for (const PatternMessage& m : pattern.messages)
    counts[static_cast<std::size_t>(m.from) * ranks + static_cast<std::size_t>(m.to)] = m.bytes;
  Noted unused = 0;
  bool is_new = false;
  is_long_ = pattern.total_bytes() >= least_scheduled_bytes;
  learn(pattern, std::move(counts), unused, is_new);
}

KnownPatterns::Digest KnownPatterns::digest(const Problem& p) {
  Digest own{};
  std::int64_t sent = 0;
  std::int64_t longest = 0;
  std::size_t messages = 0;
  for (int i = 0; i < size_; ++i) {
    const std::int64_t bytes = i == rank_ ? 0 : p.send_bytes[static_cast<std::size_t>(i)];
    sent += bytes;
    longest = std::max(longest, bytes);
    messages += bytes > 0 ? 1 : 0;
    if (fabric_.node(i) != fabric_.node(rank_)) own[far_bytes] += bytes;
  }
  const bool is_short = most_on_a_node_ >= many_ranks_on_a_node
                            ? longest <= short_message_bytes
                            : own[far_bytes] * most_on_a_node_ <= short_pattern_bytes(fabric_);
  const bool was_short = most_sent_bytes_ <= std::max(short_pattern_bytes(fabric_), 2 * sent);
  told_for_ = call_;
  most_sent_bytes_ = 0;
  own[long_calls] = is_short && was_short ? 0 : 1;
  own[changed] = has_changed(p) ? 1 : 0;
  for (std::size_t place = 0; place < most; ++place) own[not_place + place] = is_nearly(known_[place], p) ? 0 : 1;
  for (std::size_t i = 0; i < widths; ++i) own[more_than + i] = messages > width_of(i, size_) ? 1 : 0;
  return own;
}

/// Tells whether this rank's counts differ from those at the last digest, and notes them.
bool KnownPatterns::has_changed(const Problem& p) {
  std::int64_t deviation = 0;
  std::int64_t own = 0;
  const bool known = !sent_.empty();
  for (std::size_t i = 0; known && i < sent_.size(); ++i) {
    deviation += std::abs(sent_[i] - p.send_bytes[i]) + std::abs(received_[i] - p.recv_bytes[i]);
    own += sent_[i] + received_[i];
  }
  sent_ = p.send_bytes;
  received_ = p.recv_bytes;
  return !known || !nearly_same(deviation, own, 0);
}

bool KnownPatterns::take_in_digest(const Digest& sums) {
  const double far = static_cast<double>(sums[far_bytes]);
  const double nodes = std::max(1.0, static_cast<double>(size_) / most_on_a_node_);
  const double call_s = far / nodes / fabric_.link_bytes_per_s;
  calls_s_ += call_s * static_cast<double>(call_ - gathered_for_);
  gathered_for_ = call_;
  noted_since_ = call_;
  is_short_ = sums[long_calls] == 0;
  is_long_ = sums[far_bytes] >= least_scheduled_bytes;
  std::size_t half = widths - 1;
  while (half > 0 && 2 * width_of(half, size_) > static_cast<std::size_t>(size_)) --half;
  const bool dense = 2 * sums[more_than + half] >= size_ && size_ > most_on_a_node_;
  mean_bytes_ = dense ? sums[far_bytes] / (std::int64_t{size_} * (size_ - most_on_a_node_)) : 0;
  std::size_t width = 0;
  while (width < widths && sums[more_than + width] > 0) ++width;
  width_ = std::min(width_of(width, size_), static_cast<std::size_t>(size_ - 1));
  gathered_ = -1;
  for (int place = most; place-- > 0;) {
    const Known& known = known_[static_cast<std::size_t>(place)];
    if (known.number > 0 && sums[not_place + static_cast<std::size_t>(place)] == 0) gathered_ = place;
  }
  if (gathered_ >= 0) known_[static_cast<std::size_t>(gathered_)].last_seen = call_;
  const bool useful = is_short_ ? most_on_a_node_ < many_ranks_on_a_node : is_long_;
  next_gathering_ = call_ + calls_between(call_s, gathering_seconds(size_, 1, fabric_), call_, useful);
  if (gathered_ >= 0 || is_short_ || !is_long_ || sums[changed] > 0) return false;
  const double rows_s = gathering_seconds(size_, width_, fabric_);
  if (spent_s_ + rows_s > most_of_a_call * call_s + gathering_share * calls_s_) return false;
  spent_s_ += rows_s;
  return true;
}

void KnownPatterns::tell_sparse(const Problem& p, std::span<std::int64_t> row) const {
  std::fill(row.begin(), row.end(), -1);
  auto next = row.begin();
  for (int i = 0; i < size_ && next != row.end(); ++i) {
    const std::int64_t bytes = i == rank_ ? 0 : p.send_bytes[static_cast<std::size_t>(i)];
    if (bytes > 0) *next++ = std::int64_t{i} << bytes_bits | std::min(bytes, most_bytes);
  }
}

void KnownPatterns::take_in_sparse(std::span<const std::int64_t> rows) {
  const auto ranks = static_cast<std::size_t>(size_);
  std::vector<std::int64_t> counts(ranks * ranks);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    counts[i / width_ * ranks + static_cast<std::size_t>(rows[i] >> bytes_bits)] = rows[i] & most_bytes;
  }
  Noted agreed = 0;
  bool is_new = false;
  Pattern pattern = Pattern::of_counts(size_, counts);
  gathered_ = learn(std::move(pattern), std::move(counts), agreed, is_new);
}

}  // namespace antiphon
