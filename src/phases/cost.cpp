// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "phases/ports.hpp"

namespace antiphon {

namespace {

/// What a permission costs its receiver's port and processor.
constexpr double permission_s = 20e-6;
/// Ranks that nothing holds together drift apart, and a port then waits for a sender that is busy elsewhere. These
/// factors on the time without delays were measured on 16 nodes at 100 Mb/s (docs/measurements/compiled/schedules.md).
constexpr double drift_of_tokens = 1.45;
constexpr double drift_of_grants = 1.4;
constexpr double drift_of_lockstep = 1.18;
/// Ports that several long messages enter at a time lose packets, which TCP sends again: the library's own all-to-alls
/// take about this many times the limit (docs/measurements/ethernet-16.md).
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

/// A phase takes as long as its longest part (paper 1: an "X bytes phase"), or as its fullest uplink.
double one_phase_seconds(const PhaseOfParts& phase, const Ports& ports) {
  Time time{std::vector<double>(static_cast<std::size_t>(ports.nodes())),
            std::vector<double>(static_cast<std::size_t>(ports.nodes()))};
  for (const Part& part : phase.parts) {
    const Ports::Use use = ports.of(part.from, part.to);
    if (use.out < 0) continue;
    time.out[static_cast<std::size_t>(use.out)] += static_cast<double>(part.bytes) * ports.seconds_per_byte();
    time.in[static_cast<std::size_t>(use.in)] += static_cast<double>(part.bytes) * ports.seconds_per_byte();
  }
  return std::max(time.end(), uplink_seconds(ports, phase.parts));
}

/// What synchronisation adds to each part and to each piece of it.
struct Extra {
  double part_s = 0;
  double piece_s = 0;
  double drift = 1;
};

Extra extra_of(Synchronisation synchronisation) {
  switch (synchronisation) {
    case Synchronisation::tokens: return {permission_s, 0, drift_of_tokens};
    case Synchronisation::lockstep: return {permission_s, 0, drift_of_lockstep};
    case Synchronisation::grants: return {0, permission_s, drift_of_grants};
    default: return {};
  }
}

double seconds_of(const Part& part, bool together, const Ports& ports, const Extra& extra, const Cut& cut) {
  const std::int64_t piece = cut.piece_bytes > 0 ? cut.piece_bytes : INT64_MAX;
  const double wire_s = static_cast<double>(part.bytes) * ports.seconds_per_byte();
  return together ? wire_s : wire_s + extra.part_s + extra.piece_s * static_cast<double>((part.bytes - 1) / piece + 1);
}

/// Each part begins when both its ports are through with earlier phases, as tokens and grants allow. Parts that go
/// together keep each port busy, but neither port waits for the other. Calls take(part, phase, begin_s, end_s).
template <typename Take>
double in_order_seconds(const Phases& phases, const Ports& ports, const Extra& extra, const Cut& cut, Take take) {
  Time time{std::vector<double>(static_cast<std::size_t>(ports.nodes())),
            std::vector<double>(static_cast<std::size_t>(ports.nodes()))};
  for (std::size_t i = 0; i < phases.phases.size(); ++i) {
    const bool together = phases.phases[i].together;
    for (const Part& part : phases.phases[i].parts) {
      const Ports::Use use = ports.of(part.from, part.to);
      if (use.out < 0) continue;
      double& out = time.out[static_cast<std::size_t>(use.out)];
      double& in = time.in[static_cast<std::size_t>(use.in)];
      const double lasts_s = seconds_of(part, together, ports, extra, cut);
      const double begin_s = together ? out : std::max(out, in);
      out = begin_s + lasts_s;
      in = together ? in + lasts_s : out;
      take(part, i, begin_s, out);
    }
  }
  return time.end();
}

double barrier_seconds(const Fabric& fabric, int ranks) {
  if (fabric.barrier_ns > 0) return static_cast<double>(fabric.barrier_ns) * 1e-9;
  const auto steps = static_cast<double>(std::bit_width(static_cast<unsigned>(std::max(1, ranks - 1))));
  return static_cast<double>(fabric.latency_ns) * 1e-9 * steps;
}

double unsynchronised_seconds(const Phases& phases, const Fabric& fabric, const LowerBound& bound) {
  bool alone = true;
  for (const PhaseOfParts& phase : phases.phases) alone &= phase.together;
  const bool fits = bound.node_bytes <= fabric.port_buffer_bytes;
  return bound.seconds * (alone || fits || phases.phases.size() == 1 ? 1 : contention);
}

}  // namespace

double phases_seconds(const Phases& phases, const Fabric& fabric, Synchronisation synchronisation, const Cut& cut) {
  return phases_seconds(phases, fabric, synchronisation, cut, lower_bound(phases.pattern(), fabric));
}

double phases_seconds(const Phases& phases, const Fabric& fabric, Synchronisation synchronisation, const Cut& cut,
                      const LowerBound& bound) {
  const Ports ports(fabric, phases.size);
  const double latency_s = static_cast<double>(fabric.latency_ns) * 1e-9;
  switch (synchronisation) {
    case Synchronisation::none: return latency_s + unsynchronised_seconds(phases, fabric, bound);
    case Synchronisation::tokens:
    case Synchronisation::lockstep:
    case Synchronisation::grants: {
      const auto ignore = [](const Part&, std::size_t, double, double) {};
      const Extra extra = extra_of(synchronisation);
      const double in_order_s = std::max(bound.seconds, in_order_seconds(phases, ports, extra, cut, ignore));
      // A single sender or receiver has no other rank to drift away from.
      return 2 * latency_s + (phases.phases.size() > 2 ? in_order_s * extra.drift : in_order_s);
    }
    case Synchronisation::barrier: break;
  }
  double sum = 0;
  for (const PhaseOfParts& phase : phases.phases) sum += latency_s + one_phase_seconds(phase, ports);
  return sum +
         barrier_seconds(fabric, phases.size) * static_cast<double>(std::max<std::size_t>(phases.phases.size(), 1) - 1);
}

std::vector<TimedPart> time_line(const Phases& phases, const Fabric& fabric, Synchronisation synchronisation,
                                 const Cut& cut) {
  const Ports ports(fabric, phases.size);
  std::vector<TimedPart> line;
  const auto take = [&line](const Part& part, std::size_t phase, double begin_s, double end_s) {
    line.push_back({part, phase, begin_s, end_s});
  };
  if (synchronisation != Synchronisation::barrier) {
    in_order_seconds(phases, ports, extra_of(synchronisation), cut, take);
    return line;
  }
  double begin_s = 0;
  for (std::size_t i = 0; i < phases.phases.size(); ++i) {
    for (const Part& part : phases.phases[i].parts) {
      if (!ports.local(part.from, part.to))
        take(part, i, begin_s, begin_s + static_cast<double>(part.bytes) * ports.seconds_per_byte());
    }
    begin_s += one_phase_seconds(phases.phases[i], ports) + barrier_seconds(fabric, phases.size);
  }
  return line;
}

}  // namespace antiphon
