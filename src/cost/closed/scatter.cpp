// SPDX-License-Identifier: Apache-2.0
// Paper 5, Table 2: communication models for scatter.
#include "cost/closed/tables.hpp"

namespace antiphon::closed {

namespace {

constexpr ClosedForm forms[] = {
    {Collective::scatter, "flat", "(P−1) g(m) + L", "paper 5, Table 2", one_to_each_flat},
    {Collective::scatter, "chain", "Σ j=1…P−1 g(j m) + (P−1) L", "paper 5, Table 2", one_to_each_chain},
    {Collective::scatter, "chain_pipelined", "(P−1) (g(m) + L)", "paper 5, Table 2", one_to_each_pipelined},
    {Collective::scatter, "binomial", "Σ j=0…⌈log2 P⌉−1 g(2^j m) + ⌈log2 P⌉ L", "paper 5, Table 2",
     one_to_each_binomial},
};

}  // namespace

std::span<const ClosedForm> scatter() { return forms; }

}  // namespace antiphon::closed
