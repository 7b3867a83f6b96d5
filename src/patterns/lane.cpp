// SPDX-License-Identifier: Apache-2.0
#include "patterns/lane.hpp"

#include <algorithm>

namespace antiphon {

namespace {

/// Where so many messages fit into a window, what must wait for all of them waits for joins of fewer.
constexpr std::size_t many = 64;
constexpr std::size_t messages_of_join = 16;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

}  // namespace

void Lane::append(Schedule& s) {
  if (cut_.window > 0) pace(s, end_, cut_.window);
  const Op& op = s.ops().back();
  const std::int64_t length = cut_.piece_bytes > 0 ? op.bytes() : 1;
  messages_.push_back({static_cast<OpId>(s.ops().size() - 1), end_, end_ + length, op.pieces()});
  end_ += length;
  while (joins_pay()) join(s);
}

void Lane::pace(Schedule& s, std::int64_t start, std::int32_t window) const {
  const std::int64_t pieces = s.ops().back().pieces();
  const std::int64_t credit = window * unit();
  // A message that ends before this point is complete before the last piece in question can start.
  const std::int64_t settled = start - credit - (cut_.window + 1) * unit();
  // The operation's last piece comes before any message after this point matters.
  const std::int64_t last_start = start - credit + (pieces - 1) * unit();
  const auto end =
      std::partition_point(messages_.begin(), messages_.end(), [&](const Message& m) { return m.start <= last_start; });
  for (auto m = std::make_reverse_iterator(end); m != messages_.rend(); ++m) {
    if (cut_.window > 0 && m->end <= settled) break;
    const std::int64_t lag = ceil_div(credit - (start - m->start), unit());
    if (m->join != no_op && lag <= 0) {
      s.after(m->join);
      break;
    }
    if (-lag >= m->pieces - 1) s.after(m->op);
    else s.after({m->op, static_cast<std::int32_t>(lag)});
  }
}

/// Tells whether messages are so short that a later one would have to wait for very many.
bool Lane::joins_pay() const {
  const std::size_t count = messages_.size();
  if (count < many || count < joined_ + messages_of_join) return false;
  return end_ - messages_[count - many].start <= cut_.window * unit();
}

/// Adds an operation without bytes that waits for the next messages, and for all before them.
void Lane::join(Schedule& s) {
  const OpId before = joined_ > 0 ? messages_[joined_ - 1].join : no_op;
  const OpId all = s.copy({}, {}, {before});
  for (std::size_t i = 0; i < messages_of_join; ++i) s.after(messages_[joined_++].op);
  messages_[joined_ - 1].join = all;
}

}  // namespace antiphon
