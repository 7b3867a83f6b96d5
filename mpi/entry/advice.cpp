// SPDX-License-Identifier: Apache-2.0
#include "entry/advice.hpp"

#include <algorithm>
#include <utility>

namespace antiphon::mpi {

namespace {

/// Tells whether phases are even enough for ranks that keep in step: together they take hardly longer than the busiest
/// rank sends or receives, and the other ranks are about as busy. In uneven phases ranks wait for each other (measured:
/// 1.5 to 1.75 times the limit; ranks that are free, in the same order, take 1.07 to 1.12). A rank that has far more to
/// send than the others is held up by them if it keeps in step (1.06, free 1.02).
bool are_even(const Phases& phases) {
  constexpr double most = 1.2;
  constexpr double least_busy = 0.6;  ///< as a share of the busiest rank's bytes, on average
  std::vector<std::int64_t> out(static_cast<std::size_t>(phases.size));
  std::vector<std::int64_t> in(out.size());
  std::int64_t together = 0;
  for (const PhaseOfParts& phase : phases.phases) {
    std::int64_t longest = 0;
    for (const Part& part : phase.parts) {
      out[static_cast<std::size_t>(part.from)] += part.bytes;
      in[static_cast<std::size_t>(part.to)] += part.bytes;
      longest = std::max(longest, part.bytes);
    }
    together += longest;
  }
  std::int64_t busiest = 0;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t busy = std::max(out[i], in[i]);
    busiest = std::max(busiest, busy);
    all += busy;
  }
  return static_cast<double>(together) <= most * static_cast<double>(busiest) &&
         static_cast<double>(all) >= least_busy * static_cast<double>(busiest) * static_cast<double>(phases.size);
}

}  // namespace

Advice::Advice(const CompiledPattern& compiled, int rank)
    : send_bytes(static_cast<std::size_t>(compiled.phases.size)), recv_bytes(send_bytes.size()),
      in_step(compiled.synchronisation != Synchronisation::none &&
              compiled.synchronisation != Synchronisation::grants && are_even(compiled.phases)) {
  for (const PhaseOfParts& phase : compiled.phases.phases) {
    ExchangeStep step;
    const auto take = [&](int& peer, std::int64_t& bytes, const Part& part, int other) {
      if (bytes > 0) steps.push_back(std::exchange(step, {}));  // several parts that go together
      peer = other;
      bytes = part.bytes;
    };
    for (const Part& part : phase.parts) {
      if (part.from == rank) {
        send_bytes[static_cast<std::size_t>(part.to)] += part.bytes;
        take(step.to, step.send_bytes, part, part.to);
      }
      if (part.to == rank) {
        recv_bytes[static_cast<std::size_t>(part.from)] += part.bytes;
        take(step.from, step.receive_bytes, part, part.from);
      }
    }
    if (step != ExchangeStep{}) steps.push_back(step);
  }
  // If another rank's counts differ after all, the ranks that keep to the schedule tolerate that for half a call.
  patience_s = 0.5e-9 * static_cast<double>(compiled.expected_ns);
}

bool Advice::fits(const Problem& p) const {
  const auto own = static_cast<std::size_t>(p.rank);
  for (std::size_t i = 0; i < send_bytes.size(); ++i) {
    if (i != own && (send_bytes[i] != p.send_bytes[i] || recv_bytes[i] != p.recv_bytes[i])) return false;
  }
  return true;
}

}  // namespace antiphon::mpi
