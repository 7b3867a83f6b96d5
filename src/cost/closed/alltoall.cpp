// SPDX-License-Identifier: Apache-2.0
// Paper 5, Table 3 and Section 5: bounds of the direct exchange, and the estimates between them.
#include "cost/closed/terms.hpp"

namespace antiphon::closed {

namespace {

/// Lower bound: every message leaves as soon as the network has taken over the message before. The paper prints this
/// row second, but its text says which row is which.
double lower(const ClosedFormCall& c, const LinkClass& l) {
  return (c.ranks - 1) * (l.send_overhead.at(c.bytes) + l.receive_overhead.at(c.bytes)) + l.latency_s;
}

/// Upper bound: links are so full that every message waits for the one before.
double upper(const ClosedFormCall& c, const LinkClass& l) {
  return (c.ranks - 1) * (l.gap.at(c.bytes) + l.receive_overhead.at(c.bytes)) + l.latency_s;
}

double contended(const ClosedFormCall& c, const LinkClass& l) {
  const double low = lower(c, l);
  return low + (upper(c, l) - low) * c.gamma;
}

constexpr ClosedForm forms[] = {
    {Collective::alltoall, "lower", "(P−1) os(m) + (P−1) or(m) + L", "paper 5, Table 3", lower},
    {Collective::alltoall, "upper", "(P−1) g(m) + (P−1) or(m) + L", "paper 5, Table 3", upper},
    {Collective::alltoall, "contended", "lower + (upper − lower) γ", "paper 5, Section 5.1", contended},
};

}  // namespace

std::span<const ClosedForm> alltoall() { return forms; }

}  // namespace antiphon::closed
