// SPDX-License-Identifier: Apache-2.0
#include "patterns/lane.hpp"

namespace antiphon {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

}  // namespace

void Lane::append(Schedule& s) {
  if (cut_.window > 0) pace(s, end_, cut_.window);
  const Op& op = s.ops().back();
  const std::int64_t length = cut_.piece_bytes > 0 ? op.bytes() : 1;
  messages_.push_back({static_cast<OpId>(s.ops().size() - 1), end_, end_ + length, op.pieces()});
  end_ += length;
}

void Lane::pace(Schedule& s, std::int64_t start, std::int32_t window) const {
  const std::int64_t pieces = s.ops().back().pieces();
  const std::int64_t credit = window * unit();
  // A message that ends before this point is complete before the last piece in question can start.
  const std::int64_t settled = start - credit - (cut_.window + 1) * unit();
  for (auto m = messages_.rbegin(); m != messages_.rend(); ++m) {
    if (cut_.window > 0 && m->end <= settled) break;
    const std::int64_t lag = ceil_div(credit - (start - m->start), unit());
    if (lag > pieces - 1) continue;  // the operation's last piece comes before this message matters
    if (-lag >= m->pieces - 1) s.after(m->op);
    else s.after({m->op, static_cast<std::int32_t>(lag)});
  }
}

}  // namespace antiphon
