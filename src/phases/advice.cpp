// SPDX-License-Identifier: Apache-2.0
#include "antiphon/advice.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "antiphon/index.hpp"

namespace antiphon {

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

/// The last part of a message takes all that is left of it, so that a step more or less at its end costs nothing.
constexpr std::int64_t all_the_rest = INT64_MAX;

std::int64_t in_proportion(std::int64_t part, std::int64_t whole, std::int64_t now) {
  if (part == all_the_rest || whole == now || whole == 0) return part;
  return static_cast<std::int64_t>(static_cast<double>(part) * static_cast<double>(now) / static_cast<double>(whole));
}

/// Returns the most bytes that a rank sends and receives together.
std::int64_t busiest(const Phases& phases) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(phases.size));
  for (const PhaseOfParts& phase : phases.phases) {
    for (const Part& part : phase.parts) {
      bytes[static_cast<std::size_t>(part.from)] += part.bytes;
      bytes[static_cast<std::size_t>(part.to)] += part.bytes;
    }
  }
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

bool has_even_blocks(const Problem& p) {
  constexpr std::int64_t most = 5, of_least = 4;  ///< the longest block is at most so many times the shortest
  std::int64_t longest = 0;
  std::int64_t shortest = INT64_MAX;
  for (int i = 0; i < p.size; ++i) {
    if (i == p.rank) continue;
    for (const std::int64_t bytes : {p.send_bytes[at(i)], p.recv_bytes[at(i)]}) {
      longest = std::max(longest, bytes);
      shortest = std::min(shortest, bytes);
    }
  }
  return longest > 0 && longest * of_least <= shortest * most;
}

Advice::Advice(const CompiledPattern& compiled, int rank)
    : rank_(rank), send_bytes_(static_cast<std::size_t>(compiled.phases.size)), recv_bytes_(send_bytes_.size()),
      busiest_bytes_(busiest(compiled.phases)),
      in_step_(compiled.synchronisation != Synchronisation::none &&
               compiled.synchronisation != Synchronisation::grants && are_even(compiled.phases)) {
  for (const PhaseOfParts& phase : compiled.phases.phases) add(phase);
  std::vector<bool> sends(send_bytes_.size()), receives(send_bytes_.size());
  const auto lengthen = [](std::vector<bool>& seen, int peer, std::int64_t& bytes) {
    if (peer < 0 || seen[static_cast<std::size_t>(peer)]) return;
    seen[static_cast<std::size_t>(peer)] = true;
    bytes = all_the_rest;
  };
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    lengthen(sends, step->to, step->send_bytes);
    lengthen(receives, step->from, step->receive_bytes);
  }
  // If another rank is late after all, those that keep to the schedule tolerate that for half a call.
  patience_s_ = 0.5e-9 * static_cast<double>(compiled.expected_ns);
}

/// Adds this rank's parts in the phase.
void Advice::add(const PhaseOfParts& phase) {
  ExchangeStep step;
  const auto take = [&](int& peer, std::int64_t& bytes, const Part& part, int other) {
    if (bytes > 0) steps_.push_back(std::exchange(step, {}));  // several parts that go together
    peer = other;
    bytes = part.bytes;
  };
  for (const Part& part : phase.parts) {
    if (part.from == rank_) {
      send_bytes_[static_cast<std::size_t>(part.to)] += part.bytes;
      take(step.to, step.send_bytes, part, part.to);
    }
    if (part.to == rank_) {
      recv_bytes_[static_cast<std::size_t>(part.from)] += part.bytes;
      take(step.from, step.receive_bytes, part, part.from);
    }
  }
  if (step != ExchangeStep{}) steps_.push_back(step);
}

Way Advice::way_for(const Problem& p) {
  if (fits(p)) return way();
  adapted_ = steps_;
  for (ExchangeStep& step : adapted_) {
    const auto to = static_cast<std::size_t>(step.to);
    const auto from = static_cast<std::size_t>(step.from);
    if (step.to >= 0) step.send_bytes = in_proportion(step.send_bytes, send_bytes_[to], p.send_bytes[to]);
    if (step.from >= 0) step.receive_bytes = in_proportion(step.receive_bytes, recv_bytes_[from], p.recv_bytes[from]);
  }
  const auto sum = [](const std::vector<std::int64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  };
  const auto known = static_cast<double>(std::max<std::int64_t>(1, sum(send_bytes_) + sum(recv_bytes_)));
  const double longer = static_cast<double>(sum(p.send_bytes) + sum(p.recv_bytes)) / known;
  return {adapted_, in_step_ && nearly_fits(p), patience_s_ * std::max(1.0, longer)};
}

bool Advice::fits(const Problem& p) const {
  for (int i = 0; i < static_cast<int>(send_bytes_.size()); ++i) {
    const auto peer = static_cast<std::size_t>(i);
    if (i != rank_ && (send_bytes_[peer] != p.send_bytes[peer] || recv_bytes_[peer] != p.recv_bytes[peer]))
      return false;
  }
  return true;
}

bool Advice::nearly_fits(const Problem& p) const {
  std::int64_t deviation = 0;
  std::int64_t own = 0;
  for (int i = 0; i < static_cast<int>(send_bytes_.size()); ++i) {
    const auto peer = static_cast<std::size_t>(i);
    if (i == rank_) continue;
    deviation += std::abs(send_bytes_[peer] - p.send_bytes[peer]) + std::abs(recv_bytes_[peer] - p.recv_bytes[peer]);
    own += send_bytes_[peer] + recv_bytes_[peer];
  }
  return nearly_same(deviation, own, busiest_bytes_);
}

}  // namespace antiphon
