// SPDX-License-Identifier: Apache-2.0
// What messages cost processors.
#include <algorithm>

#include "antiphon/ethernet.hpp"
#include "cost/simulation.hpp"

namespace antiphon {

namespace {

double packets(std::int64_t bytes) { return static_cast<double>(bytes / ethernet::payload_bytes + 1); }

}  // namespace

/// Above the eager limit os and or, as they are measured, contain the message's transfer, in which the processor is
/// free: its work goes on as the points up to the limit do.
double CostSimulation::work_s(const LinkClass& link, const Curve& overhead, std::int64_t bytes) {
  const auto points = overhead.points();
  const auto beyond =
      std::find_if(points.begin(), points.end(), [&](const Curve::Point& p) { return p.bytes > link.eager_bytes; });
  // Of two points at the limit the second belongs to what is above it.
  auto count = static_cast<std::size_t>(beyond - points.begin());
  if (beyond == points.end()) return overhead.at(bytes);
  if (count > 1 && points[count - 1].bytes == points[count - 2].bytes) --count;
  if (count == 0 || bytes <= points[count - 1].bytes) return overhead.at(bytes);
  const Curve::Point& last = points[count - 1];
  const double slope_s = last.bytes > 0 ? (last.seconds - overhead.at(0)) / static_cast<double>(last.bytes) : 0;
  return last.seconds + std::max(slope_s, 0.0) * static_cast<double>(bytes - last.bytes);
}

/// What both processors do for a message while all ranks send, which tells more than a pair that the others wait for.
/// Measured for short messages; of longer ones the rest is as for the pair.
double CostSimulation::crowded_work_s(const LinkClass& link, std::int64_t bytes) {
  const std::int64_t known = std::min(bytes, link.crowded.points().back().bytes);
  double work = link.crowded.at(known);
  for (const Curve* overhead : {&link.send_overhead, &link.receive_overhead}) {
    work += std::max(0.0, work_s(link, *overhead, bytes) - work_s(link, *overhead, known));
  }
  return work;
}

/// Half of it is the sender's; what a receiver fetches, it copies.
double CostSimulation::send_work_s(const LinkClass& link, std::int64_t bytes) const {
  if (!crowded(link)) return work_s(link, link.send_overhead, bytes);
  return crowded_work_s(link, std::min(bytes, link.eager_bytes)) / 2;
}

/// What taking a message in costs the processor. On shared cores a receiver that is timed by the clock waits for its
/// turn too, which is no work: of an empty message, no more than handing it over counts.
double CostSimulation::receive_work_s(const LinkClass& link, std::int64_t bytes) const {
  if (crowded(link)) return crowded_work_s(link, bytes) - send_work_s(link, bytes);
  const double waiting =
      machine_.cores() > 0 ? std::max(0.0, link.receive_overhead.at(0) - link.send_overhead.at(0)) : 0;
  return std::max(0.0, work_s(link, link.receive_overhead, bytes) - waiting);
}

/// What a message's packets cost processors, beyond its ranks' own work, if they wait for their ports: interrupts,
/// their way, acknowledgements. Known from the longest message that was measured, whose packets all wait; of its gap a
/// message has `waited` that share, and so many of its packets have. What passes at once is in the message's work.
double CostSimulation::packets_s(const LinkClass& link, std::int64_t bytes, double waited) {
  const Curve::Point& measured = link.saturated.points().back();
  const double all_s = measured.seconds - crowded_work_s(link, std::min(measured.bytes, link.eager_bytes));
  return std::max(0.0, all_s) / packets(measured.bytes) * waited * packets(bytes);
}

/// What the receiver of a message does in its turn. A long one is taken in as it comes: what is left when its last byte
/// is there is no more than a short one. To fetch one takes what is left of its gap when its sender has handed it over
/// and looked.
double CostSimulation::take_in_s(const Message& m) const {
  if (m.multicast) return packet_work_s(m);
  if (!fetched(m)) return receive_work_s(*m.link, std::min(m.bytes, m.link->eager_bytes));
  const double work = receive_work_s(*m.link, m.bytes);
  if (crowded(*m.link)) return work;
  return std::max(work, near_gap_s(m) - send_work_s(*m.link, m.bytes) - turns_.turn_s());
}

}  // namespace antiphon
