// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "phases/ports.hpp"

namespace antiphon {

namespace {

/// What a permission costs its receiver's port and processor.
constexpr double permission_s = 20e-6;
/// Ports that several long messages enter at a time lose packets, and TCP pays: the library's own all-to-alls take about this
/// many times the limit (docs/measurements/ethernet-16.md).
constexpr double contention = 1.7;

struct Time {
  std::vector<double> out, in;
  [[nodiscard]] double end() const {
    double latest = 0;
    for (const auto* times : {&out, &in}) {
      for (const double t : *times) latest = std::max(latest, t);
    }
    return latest;
  }
};

double uplink_seconds(const Ports& ports, const std::vector<Part>& parts) {
  if (ports.uplink_messages() == 0) return 0;
  Pattern pattern;
  for (const Part& part : parts) pattern.messages.push_back({part.from, part.to, part.bytes});
  return static_cast<double>(Loads(ports, pattern).most_uplink_bytes()) * ports.uplink_seconds_per_byte();
}

/// A phase as long as its longest part (paper 1: an "X bytes phase"), or as its fullest uplink.
double one_phase_seconds(const PhaseOfParts& phase, const Ports& ports) {
  Time time{std::vector<double>(static_cast<std::size_t>(ports.nodes())), std::vector<double>(static_cast<std::size_t>(ports.nodes()))};
  for (const Part& part : phase.parts) {
    const Ports::Use use = ports.of(part.from, part.to);
    if (use.out < 0) continue;
    time.out[static_cast<std::size_t>(use.out)] += static_cast<double>(part.bytes) * ports.seconds_per_byte();
    time.in[static_cast<std::size_t>(use.in)] += static_cast<double>(part.bytes) * ports.seconds_per_byte();
  }
  return std::max(time.end(), uplink_seconds(ports, phase.parts));
}

/// Each part begins when both its ports are through with earlier phases: what tokens and grants allow.
double in_order_seconds(const Phases& phases, const Ports& ports, double per_part_s, double per_piece_s, const Cut& cut) {
  Time time{std::vector<double>(static_cast<std::size_t>(ports.nodes())), std::vector<double>(static_cast<std::size_t>(ports.nodes()))};
  const std::int64_t piece = cut.piece_bytes > 0 ? cut.piece_bytes : INT64_MAX;
  for (const PhaseOfParts& phase : phases.phases) {
    for (const Part& part : phase.parts) {
      const Ports::Use use = ports.of(part.from, part.to);
      if (use.out < 0) continue;
      double& out = time.out[static_cast<std::size_t>(use.out)];
      double& in = time.in[static_cast<std::size_t>(use.in)];
      double lasts = static_cast<double>(part.bytes) * ports.seconds_per_byte();
      if (!phase.together) lasts += per_part_s + per_piece_s * static_cast<double>((part.bytes - 1) / piece + 1);
      if (phase.together) {
        out += lasts;
        in += lasts;
      } else {
        out = in = std::max(out, in) + lasts;
      }
    }
  }
  return time.end();
}

double unsynchronised_seconds(const Phases& phases, const Fabric& fabric, const LowerBound& bound) {
  bool alone = true;
  for (const PhaseOfParts& phase : phases.phases) alone &= phase.together;
  const bool fits = bound.node_bytes <= fabric.port_buffer_bytes;
  return bound.seconds * (alone || fits || phases.phases.size() == 1 ? 1 : contention);
}

}  // namespace

double phases_seconds(const Phases& phases, const Fabric& fabric, Synchronisation synchronisation, const Cut& cut) {
  const Ports ports(fabric, phases.size);
  const double latency_s = static_cast<double>(fabric.latency_ns) * 1e-9;
  const LowerBound bound = lower_bound(phases.pattern(), fabric);
  switch (synchronisation) {
    case Synchronisation::none: return latency_s + unsynchronised_seconds(phases, fabric, bound);
    case Synchronisation::tokens:
      return 2 * latency_s + std::max(bound.seconds, in_order_seconds(phases, ports, permission_s, 0, cut));
    case Synchronisation::grants:
      return 2 * latency_s + std::max(bound.seconds, in_order_seconds(phases, ports, 0, permission_s, cut));
    case Synchronisation::barrier: break;
  }
  const auto steps = static_cast<double>(std::bit_width(static_cast<unsigned>(std::max(1, phases.size - 1))));
  const double barrier_s = fabric.barrier_ns > 0 ? static_cast<double>(fabric.barrier_ns) * 1e-9 : 2 * latency_s * steps;
  double sum = 0;
  for (const PhaseOfParts& phase : phases.phases) sum += latency_s + one_phase_seconds(phase, ports);
  return sum + barrier_s * static_cast<double>(std::max<std::size_t>(phases.phases.size(), 1) - 1);
}

}  // namespace antiphon
