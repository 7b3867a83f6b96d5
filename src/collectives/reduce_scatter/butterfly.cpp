// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/reduce_scatter.hpp"

namespace antiphon::reduce_scatter_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", 2, 1, 1024, "pieces ahead of what comes in"},
};

/// Partners 1, 2, 4… places away each send the half that the other keeps, of blocks in such an order that each rank is
/// left with its own (as Open MPI's). Operands stay in order, so that operations need not commute, and partners on the
/// same node come first, where most is exchanged. Cost (pLogP): log2 P · L + (P−1) g(m). Short and medium blocks.
Schedule build(const Problem& p) { return reduce_scatter_butterfly(p); }

}  // namespace

extern const Algorithm butterfly{Collective::reduce_scatter,
                                 "butterfly",
                                 "near partners halve what they keep; any operation",
                                 parameters,
                                 nullptr,
                                 build};

}  // namespace antiphon::reduce_scatter_algorithms
