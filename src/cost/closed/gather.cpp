// SPDX-License-Identifier: Apache-2.0
// Paper 5, Section 4: gather is scatter backwards, so it follows the models of Table 2.
#include "cost/closed/tables.hpp"

namespace antiphon::closed {

namespace {

constexpr ClosedForm forms[] = {
    {Collective::gather, "flat", "(P−1) g(m) + L", "paper 5, Table 2, by symmetry", one_to_each_flat},
    {Collective::gather, "chain", "Σ j=1…P−1 g(j m) + (P−1) L", "paper 5, Table 2, by symmetry", one_to_each_chain},
    {Collective::gather, "chain_pipelined", "(P−1) (g(m) + L)", "paper 5, Table 2, by symmetry", one_to_each_pipelined},
    {Collective::gather, "binomial", "Σ j=0…⌈log2 P⌉−1 g(2^j m) + ⌈log2 P⌉ L", "paper 5, Table 2, by symmetry",
     one_to_each_binomial},
};

}  // namespace

std::span<const ClosedForm> gather() { return forms; }

}  // namespace antiphon::closed
