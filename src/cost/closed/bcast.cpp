// SPDX-License-Identifier: Apache-2.0
// Paper 5, Table 1: communication models for broadcast.
#include "cost/closed/terms.hpp"

namespace antiphon::closed {

namespace {

double flat(const ClosedFormCall& c, const LinkClass& l) { return (c.ranks - 1) * l.gap.at(c.bytes) + l.latency_s; }

double flat_rendezvous(const ClosedFormCall& c, const LinkClass& l) {
  return (c.ranks - 1) * l.gap.at(c.bytes) + 2 * l.gap.at(1) + 3 * l.latency_s;
}

double flat_segmented(const ClosedFormCall& c, const LinkClass& l) {
  const Segments s(c, l);
  return (c.ranks - 1) * s.gap_s * s.count + l.latency_s;
}

double chain(const ClosedFormCall& c, const LinkClass& l) { return (c.ranks - 1) * (l.gap.at(c.bytes) + l.latency_s); }

double chain_rendezvous(const ClosedFormCall& c, const LinkClass& l) {
  return (c.ranks - 1) * (l.gap.at(c.bytes) + l.latency_s + asking_s(l));
}

double chain_segmented(const ClosedFormCall& c, const LinkClass& l) {
  const Segments s(c, l);
  return (c.ranks - 1) * (s.gap_s + l.latency_s) + s.gap_s * (s.count - 1);
}

/// This is an upper bound, because the last rank may be a first child on every level.
double binary(const ClosedFormCall& c, const LinkClass& l) {
  return ceil_log2(c.ranks) * (2 * l.gap.at(c.bytes) + l.latency_s);
}

double binomial(const ClosedFormCall& c, const LinkClass& l) {
  return floor_log2(c.ranks) * l.gap.at(c.bytes) + ceil_log2(c.ranks) * l.latency_s;
}

double binomial_rendezvous(const ClosedFormCall& c, const LinkClass& l) {
  return floor_log2(c.ranks) * l.gap.at(c.bytes) + ceil_log2(c.ranks) * (2 * l.gap.at(1) + 3 * l.latency_s);
}

double binomial_segmented(const ClosedFormCall& c, const LinkClass& l) {
  const Segments s(c, l);
  return floor_log2(c.ranks) * s.gap_s * s.count + ceil_log2(c.ranks) * l.latency_s;
}

constexpr ClosedForm forms[] = {
    {Collective::bcast, "flat", "(P−1) g(m) + L", "paper 5, Table 1", flat},
    {Collective::bcast, "flat_rendezvous", "(P−1) g(m) + 2 g(1) + 3 L", "paper 5, Table 1", flat_rendezvous},
    {Collective::bcast, "flat_segmented", "(P−1) (g(s) k) + L", "paper 5, Table 1", flat_segmented},
    {Collective::bcast, "chain", "(P−1) (g(m) + L)", "paper 5, Table 1", chain},
    {Collective::bcast, "chain_rendezvous", "(P−1) (g(m) + 2 g(1) + 3 L)", "paper 5, Table 1", chain_rendezvous},
    {Collective::bcast, "chain_segmented", "(P−1) (g(s) + L) + g(s) (k−1)", "paper 5, Table 1", chain_segmented},
    {Collective::bcast, "binary", "≤ ⌈log2 P⌉ (2 g(m) + L)", "paper 5, Table 1", binary},
    {Collective::bcast, "binomial", "⌊log2 P⌋ g(m) + ⌈log2 P⌉ L", "paper 5, Table 1", binomial},
    {Collective::bcast, "binomial_rendezvous", "⌊log2 P⌋ g(m) + ⌈log2 P⌉ (2 g(1) + 3 L)", "paper 5, Table 1",
     binomial_rendezvous},
    {Collective::bcast, "binomial_segmented", "⌊log2 P⌋ g(s) k + ⌈log2 P⌉ L", "paper 5, Table 1", binomial_segmented},
};

}  // namespace

std::span<const ClosedForm> bcast() { return forms; }

}  // namespace antiphon::closed
