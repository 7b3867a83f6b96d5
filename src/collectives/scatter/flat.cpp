// SPDX-License-Identifier: Apache-2.0
#include "patterns/flat.hpp"

#include "antiphon/algorithm.hpp"

namespace antiphon::scatter_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", 4, 1, 1024, "pieces under way to one rank"},
    {"destinations", 2, 1, 1024, "ranks that the root serves at a time"},
};

/// The root sends every rank its block, a few ranks at a time, piece by piece: its own port is the limit, and nobody
/// else's. Cost (pLogP): (P−1) g(m) + L (paper 5, Table 2, "flat").
Schedule build(const Problem& p) { return scatter_flat(p); }

}  // namespace

extern const Algorithm flat{Collective::scatter, "flat",  "the root sends each its block, a few ranks at a time",
                            parameters,          nullptr, build};

}  // namespace antiphon::scatter_algorithms
