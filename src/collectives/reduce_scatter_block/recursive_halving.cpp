// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/reduce_scatter.hpp"

namespace antiphon::reduce_scatter_block_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", 2, 1, 1024, "pieces ahead of what comes in"},
};

/// Partners P/2, P/4, … 1 places away each send the half that the other keeps, and reduce their own. Beyond a power of
/// two, pairs of neighbours act as one, which costs one more vector. Cost (pLogP): log2 P · L + (P−1) g(m). Short and
/// medium blocks; needs a commutative operation.
Schedule build(const Problem& p) { return reduce_scatter_halving(p); }

bool supports_problem(const Problem& p) { return p.commutative; }

}  // namespace

extern const Algorithm recursive_halving{Collective::reduce_scatter_block,
                                         "recursive_halving",
                                         "partners halve what they keep; short and medium blocks",
                                         parameters,
                                         supports_problem,
                                         build};

}  // namespace antiphon::reduce_scatter_block_algorithms
