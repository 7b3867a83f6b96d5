// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "patterns/granted.hpp"

namespace antiphon::alltoallv_by_credit {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 8192, 1, 1 << 30, "bytes that a grant is for, and per message"},
    {"credit_bytes", Role::amount, 49152, 1, 1 << 30,
     "granted by a receiver and not yet received, all senders together"},
    {"sender_bytes", Role::amount, 16384, 1, 1 << 30, "the same of one sender"},
    {"short_bytes", Role::border, 8192, 0, 1 << 30, "blocks up to this are sent without asking"},
    {"window_bytes", Role::amount, 32768, 1, 1 << 30, "short blocks sent ahead of what came in"},
};

bool consistent(const Problem& p) {
  return p.parameter("piece_bytes") <= p.parameter("sender_bytes") &&
         p.parameter("sender_bytes") <= p.parameter("credit_bytes");
}

/// Receivers grant long blocks in bytes, to any sender whose credit is not used up, and senders serve any grant that
/// they hold. Over MPI the protocol of antiphon/credit.hpp runs, with what is known of the whole pattern as the order
/// of grants. The schedule built here is that protocol with a fixed order, for drawing and costing: credit_bytes /
/// sender_bytes senders at a time. Cost: the bytes into the busiest port, and one small packet per piece; good for any
/// sizes, best for irregular ones.
Schedule build(const Problem& p) {
  const std::int64_t piece_bytes = p.parameter("piece_bytes");
  const std::int64_t sender_bytes = p.parameter("sender_bytes");
  const auto window = static_cast<std::int32_t>(std::clamp<std::int64_t>(sender_bytes / piece_bytes, 1, 64));
  const std::int64_t senders = std::clamp<std::int64_t>(p.parameter("credit_bytes") / sender_bytes, 1, 64);
  return granted_exchange(p, {{piece_bytes, window}, senders, p.parameter("short_bytes")});
}

}  // namespace

extern const Algorithm alltoallv{
    .collective = Collective::alltoallv,
    .name = "credit",
    .summary = "receivers grant credit in bytes, senders serve any grant; any sizes, best for irregular ones",
    .parameters = parameters,
    .supports = consistent,
    .build = build,
    .credit = CreditWay::free,
};

}  // namespace antiphon::alltoallv_by_credit
