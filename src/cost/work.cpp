// SPDX-License-Identifier: Apache-2.0
#include "cost/work.hpp"

#include <algorithm>

#include "antiphon/ethernet.hpp"

namespace antiphon {

namespace {

/// Returns how long a message waits, on average, until its receiver has its turn, with `crowd` ranks on each core.
double wait_s(const Processors& processors, double crowd) {
  return crowd > 1 ? processors.turn_with(crowd) * crowd / 2 : 0;
}

/// Returns the number of ranks on each core when the profile's latency was measured.
double measured_crowd(const Profile& profile) {
  const Processors& p = profile.processors;
  if (p.cores_per_node == 0) return 0;
  return static_cast<double>(std::min(p.nodes_sharing, profile.machine.nodes)) * profile.machine.ranks_per_node /
         p.cores_per_node;
}

double packets(std::int64_t bytes) { return static_cast<double>(bytes / ethernet::payload_bytes + 1); }

/// Above the eager limit the measured os and or contain the message's transfer, in which the processor is free. There
/// the work continues the line of the points up to the limit.
double work_s(const LinkClass& link, const Curve& overhead, std::int64_t bytes) {
  const auto points = overhead.points();
  const auto beyond =
      std::find_if(points.begin(), points.end(), [&](const Curve::Point& p) { return p.bytes > link.eager_bytes; });
  // Of two points at the limit the second belongs to the sizes above it.
  auto count = static_cast<std::size_t>(beyond - points.begin());
  if (beyond == points.end()) return overhead.at(bytes);
  if (count > 1 && points[count - 1].bytes == points[count - 2].bytes) --count;
  if (count == 0 || bytes <= points[count - 1].bytes) return overhead.at(bytes);
  const Curve::Point& last = points[count - 1];
  const double slope_s = last.bytes > 0 ? (last.seconds - overhead.at(0)) / static_cast<double>(last.bytes) : 0;
  return last.seconds + std::max(slope_s, 0.0) * static_cast<double>(bytes - last.bytes);
}

/// Returns the work of both processors for a message while all ranks send, which costs more than between two ranks
/// alone. It is measured for short messages; the extra cost of longer ones is that of two ranks alone.
double crowded_work_s(const LinkClass& link, std::int64_t bytes) {
  const std::int64_t known = std::min(bytes, link.crowded.points().back().bytes);
  double work = link.crowded.at(known);
  for (const Curve* overhead : {&link.send_overhead, &link.receive_overhead}) {
    work += std::max(0.0, work_s(link, *overhead, bytes) - work_s(link, *overhead, known));
  }
  return work;
}

}  // namespace

Work::Work(const Cluster& cluster, const Symmetry& symmetry)
    : cluster_(cluster), takes_turns_(symmetry.whole() && cluster.cores() > 0),
      measured_wait_s_(wait_s(cluster.profile().processors, measured_crowd(cluster.profile()))),
      wait_s_(wait_s(cluster.profile().processors, cluster.ranks_on_core())) {}

/// Half of the crowded work is the sender's. It does not grow beyond the eager limit: the receiver copies the rest.
double Work::send_s(const LinkClass& link, std::int64_t bytes) const {
  if (!crowded(link)) return work_s(link, link.send_overhead, bytes);
  return crowded_work_s(link, std::min(bytes, link.eager_bytes)) / 2;
}

/// A receiver on a shared core that is timed by the clock also waits for its turn, which is no work. So an empty
/// message counts no more than handing it over does.
double Work::receive_s(const LinkClass& link, std::int64_t bytes) const {
  if (crowded(link)) return crowded_work_s(link, bytes) - send_s(link, bytes);
  const double waiting =
      cluster_.cores() > 0 ? std::max(0.0, link.receive_overhead.at(0) - link.send_overhead.at(0)) : 0;
  return std::max(0.0, work_s(link, link.receive_overhead, bytes) - waiting);
}

/// Where all ranks multicast in turn and that was measured, half of the measured work is the sender's, since nodes that
/// share cores have no other switch: its core carries each packet to each node. Bytes beyond one packet cost more, as
/// with any message, and that work runs beside the wire.
double Work::multicast_send_s(const LinkClass& link, std::int64_t bytes, std::size_t nodes) const {
  const double work_s = send_s(link, bytes);
  const double crowded_s = crowded_multicast_s();
  return crowded_s > 0 ? crowded_s / 2 * static_cast<double>(nodes) + work_s - send_s(link, 0) : work_s;
}

/// Returns the receiver's half, for each receiver that gets the packet itself.
double Work::packet_s(const Message& m) const {
  const std::int64_t bytes = std::min(m.bytes, m.link->eager_bytes);
  const double work_s = receive_s(*m.link, bytes);
  const double crowded_s = m.way == Message::Way::packet ? crowded_multicast_s() : 0;
  return crowded_s > 0 ? crowded_s / 2 + work_s - receive_s(*m.link, 0) : work_s;
}

/// A long message is taken in as it comes: the work left when its last byte arrives is no more than that of a short
/// message. Fetching one takes what is left of its gap after its sender has handed it over and looked.
double Work::take_in_s(const Message& m) const {
  if (m.multicast()) return packet_s(m);
  if (!fetched(m)) return receive_s(*m.link, std::min(m.bytes, m.link->eager_bytes));
  const double work = receive_s(*m.link, m.bytes);
  if (crowded(*m.link)) return work;
  return std::max(work, node_gap_s(m) - send_s(*m.link, m.bytes) - cluster_.turn_s());
}

/// Packets that wait for their port cost interrupts, their way through the system, and acknowledgements; their sender's
/// core handles all of it. The cost is known from the longest measured message, which has only waiting packets. The
/// share of this message's packets that wait follows from its gap; packets that pass at once are in the message's own
/// work.
double Work::packets_s(const Message& m, double now) const {
  const LinkClass& link = *m.link;
  if (m.way != Message::Way::network || !crowded(link) || link.saturated.points().empty()) return 0;
  const double waited = std::min(1.0, (now - m.begin_s) / link.gap.at(m.bytes));
  const Curve::Point& measured = link.saturated.points().back();
  const double all_s = measured.seconds - crowded_work_s(link, std::min(measured.bytes, link.eager_bytes));
  return std::max(0.0, all_s) / packets(measured.bytes) * waited * packets(m.bytes);
}

/// Latencies are measured with blocking receives. A receive that finds its message there takes a round of all ranks
/// more than a send where the library gives the core away before it reports what came.
bool Work::receive_pauses(const LinkClass& link) const {
  return measured_wait_s_ > 0 && link.receive_overhead.at(0) - link.send_overhead.at(0) > measured_wait_s_;
}

double Work::arrives_after_s(const LinkClass& link, std::int64_t bytes) const {
  const double waits = receive_pauses(link) ? 3 : 1;  // half a round of all ranks each
  const double later_s = takes_turns_ ? receive_s(link, bytes) : -waits * wait_s_;
  return std::max(0.0, link.latency_s - waits * measured_wait_s_ - later_s);
}

/// The gap of a message that its receiver fetches is measured from turn to turn of both ranks. The simulation counts
/// those turns separately.
double Work::node_gap_s(const Message& m) const {
  const double gap_s = m.link->gap.at(m.bytes);
  if (!m.rendezvous()) return gap_s;
  return std::max(gap_s - 2 * measured_wait_s_, std::min(gap_s, m.link->gap.at(m.link->eager_bytes)));
}

}  // namespace antiphon
