// SPDX-License-Identifier: Apache-2.0
// Paper 4, Section 3, equations 1 to 5, with its symbols: t(m) and T(m), the time to prepare, initiate and transmit a
// message of m bytes one way and both ways, are g(m) + L on links that carry both directions at once; o, the constant
// of a step, and ε, the time to prepare and initiate a message, are os(0).
#include "cost/closed/terms.hpp"

namespace antiphon::closed {

namespace {

double message_s(std::int64_t bytes, const LinkClass& l) { return l.gap.at(bytes) + l.latency_s; }
double initiate_s(const LinkClass& l) { return l.send_overhead.at(0); }

/// Returns Σ over `steps` doublings of `factor` T(m 2^i / divisor) + `more`.
double doublings(const ClosedFormCall& c, const LinkClass& l, int steps, double factor, std::int64_t divisor,
                 double more) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    sum += factor * message_s(bytes_of_blocks(std::int64_t{1} << i, c.bytes) / divisor, l) + more;
  }
  return sum;
}

/// T1: blocking messages go back and forth, one after the other.
double exchange_blocking(const ClosedFormCall& c, const LinkClass& l) {
  return doublings(c, l, ceil_log2(c.ranks), 2, 1, initiate_s(l));
}

/// T2: messages go in both directions at once.
double exchange(const ClosedFormCall& c, const LinkClass& l) {
  return doublings(c, l, ceil_log2(c.ranks), 1, 1, initiate_s(l));
}

/// T3: there are C groups, and each step's message also goes to the other groups, at ε each.
double concurrent_exchange(const ClosedFormCall& c, const LinkClass& l) {
  const int groups = std::max(c.concurrency, 1);
  const double epsilon = (groups - 1) * initiate_s(l);
  return epsilon + doublings(c, l, ceil_log2(c.ranks) - ceil_log2(groups), 1, 1, epsilon + initiate_s(l));
}

/// Equation 4: T2 − T3.
double concurrent_gain(const ClosedFormCall& c, const LinkClass& l) {
  return exchange(c, l) - concurrent_exchange(c, l);
}

/// T4: halves go to two partners at once.
double split_exchange(const ClosedFormCall& c, const LinkClass& l) {
  return doublings(c, l, ceil_log2(c.ranks), 1, 2, 2 * initiate_s(l));
}

constexpr ClosedForm forms[] = {
    {Collective::allgather, "exchange_blocking", "Σ i<log2 P (2 t(m 2^i) + o)", "paper 4, equation 1",
     exchange_blocking},
    {Collective::allgather, "exchange", "Σ i<log2 P (T(m 2^i) + o)", "paper 4, equation 2", exchange},
    {Collective::allgather, "concurrent_exchange", "(C−1) ε + Σ i<log2(P/C) (T(m 2^i) + (C−1) ε + o)",
     "paper 4, equation 3", concurrent_exchange},
    {Collective::allgather, "concurrent_gain", "T2 − T3", "paper 4, equation 4", concurrent_gain},
    {Collective::allgather, "split_exchange", "Σ i<log2 P (T(m 2^i / 2) + ε + o)", "paper 4, equation 5",
     split_exchange},
};

}  // namespace

std::span<const ClosedForm> allgather() { return forms; }

}  // namespace antiphon::closed
