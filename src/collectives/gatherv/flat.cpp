// SPDX-License-Identifier: Apache-2.0
#include "patterns/flat.hpp"

#include "antiphon/algorithm.hpp"

namespace antiphon::gatherv_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", 2, 1, 1024, "pieces under way from one rank"},
    {"senders", 2, 1, 1024, "ranks that may send to the root at a time"},
    {"eager_bytes", 1024, 0, 1 << 30, "blocks up to this are sent without being asked for"},
};

/// The root asks a few ranks at a time for their blocks, so that they cannot overrun its port; short blocks come
/// unasked. Cost (pLogP): (P−1) g(m) + L, and another L to ask (paper 5's flat gather, with grants).
Schedule build(const Problem& p) { return gather_flat(p); }

}  // namespace

extern const Algorithm flat{Collective::gatherv, "flat",  "the root asks a few ranks at a time for their blocks",
                            parameters,          nullptr, build};

}  // namespace antiphon::gatherv_algorithms
