// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/error.hpp"
#include "antiphon/ethernet.hpp"
#include "antiphon/profile.hpp"
#include "profile/hosts.hpp"

namespace antiphon {

std::string_view name(Scope scope) {
  switch (scope) {
    case Scope::core: return "core";
    case Scope::socket: return "socket";
    case Scope::node: return "node";
    case Scope::same_switch: return "switch";
    case Scope::uplink: return "uplink";
  }
  return "?";
}

namespace {

/// Draws straight lines between points of ascending `where`; beyond them, the nearest point's value holds.
template <typename Point>
double between(const std::vector<Point>& points, double x, auto Point::* where, double Point::* value) {
  if (x <= points.front().*where) return points.front().*value;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point &before = points[i - 1], &after = points[i];
    if (x > after.*where) continue;
    return before.*value + (x - before.*where) / (after.*where - before.*where) * (after.*value - before.*value);
  }
  return points.back().*value;
}

}  // namespace

std::optional<double> Contention::gamma_at(int ranks) const {
  if (gamma.empty()) return std::nullopt;
  return between(gamma, ranks, &Gamma::ranks, &Gamma::gamma);
}

double Processors::turn_with(double ranks_on_core) const {
  return turns.empty() ? turn_s : between(turns, ranks_on_core, &Turn::ranks_on_core, &Turn::seconds);
}

const LinkClass& Profile::link_class(Scope scope) const {
  const LinkClass* best = nullptr;
  for (const LinkClass& link : link_classes) {
    if (link.scope >= scope) return link;
    best = &link;
  }
  if (best == nullptr) throw InvalidArgument("the profile has no class of links");
  return *best;
}

namespace {

/// Each side copies a short message, one after the other. Of a long one the sender tells where it is.
Curve work_of_sender(const LinkClass::SharedMemory& memory) {
  if (memory.fetched_from_bytes == 0) return memory.gap;
  const std::int64_t longest_copied = memory.fetched_from_bytes - 1;
  std::vector<Curve::Point> points;
  for (const Curve::Point& p : memory.gap.points()) {
    if (p.bytes < longest_copied) points.push_back(p);
  }
  points.push_back({longest_copied, memory.gap.at(longest_copied)});
  points.push_back({longest_copied, memory.gap.at(0)});
  return Curve(std::move(points));
}

}  // namespace

Profile Profile::sharing_memory() const {
  Profile sharing = *this;
  for (LinkClass& link : sharing.link_classes) {
    if (!link.shared_memory) continue;
    link.latency_s = link.shared_memory->latency_s;
    link.receive_overhead = link.gap = link.shared_memory->gap;
    link.send_overhead = work_of_sender(*link.shared_memory);
    if (!link.crowded.points().empty()) link.crowded = link.gap;
    link.saturated = {};
    link.told_next_turn = false;
    link.eager_bytes = INT64_MAX;
    link.connection_bytes_per_s = link.connection_way_bytes_per_s = 0;
  }
  return sharing;
}

double LinkClass::one_connection(double port_bytes_per_s) const {
  double least = port_bytes_per_s;
  for (const double limit : {connection_bytes_per_s, connection_way_bytes_per_s}) {
    if (limit > 0) least = std::min(least, limit);
  }
  return least;
}

double Profile::port_bytes_per_s() const {
  double least = topology.nodes.empty() ? 0 : topology.nodes.front().port_bytes_per_s;
  for (const NodeEntry& node : topology.nodes) least = std::min(least, node.port_bytes_per_s);
  return least;
}

std::int64_t Profile::guessed_credit_bytes(double link_bits_per_s) {
  constexpr std::int64_t usual_port_bytes = 65536;
  constexpr double busy_round_trip_s = 100e-6;
  return usual_port_bytes + static_cast<std::int64_t>(link_bits_per_s / 8 * busy_round_trip_s);
}

Profile Profile::guess(int nodes, int ranks_per_node, double link_bits_per_s) {
  const double rate = link_bits_per_s / 8 * ethernet::payload_share;
  Profile profile;
  profile.first_guess = true;
  profile.machine.name = "guessed from the links' rate";
  profile.machine.nodes = nodes;
  profile.machine.ranks_per_node = ranks_per_node;
  if (link_bits_per_s >= host_bound_bits_per_s) {
    profile.link_classes = usual_links(link_bits_per_s, rate);
  } else {
    // These values are typical of MPI over the kernel's TCP: 10 µs of processor time per message and 25 µs one way;
    // shared memory takes a tenth.
    profile.link_classes.push_back({"node", Scope::node, 1e-6, Curve::line(0.5e-6, 8e9), Curve::line(0.5e-6, 8e9),
                                    Curve::line(0.5e-6, 5e9), 4096});
    profile.link_classes.push_back({"switch", Scope::same_switch, 25e-6, Curve::line(5e-6, 2e9), Curve::line(5e-6, 2e9),
                                    Curve::line(10e-6, rate), 65536});
  }
  profile.topology.switches.push_back({"switch"});
  profile.topology.nodes.assign(static_cast<std::size_t>(nodes), {"", 0, rate});
  profile.contention.credit_bytes = guessed_credit_bytes(link_bits_per_s);
  return profile;
}

void Profile::refine_guess(const HostFacts& facts) {
  if (!first_guess) return;
  /// What a waiting rank that polls and yields was measured to hold its core, 2 to 10 µs.
  constexpr double usual_turn_s = 5e-6;
  processors.cores_per_node = facts.cores_per_node;
  processors.nodes_sharing = std::max(facts.nodes_sharing, 1);
  processors.turn_s = facts.turn_s > 0 ? facts.turn_s : usual_turn_s;
  const double connection = static_cast<double>(facts.connection_bits_per_s) / 8 * ethernet::payload_share;
  for (LinkClass& link : link_classes) {
    // With both libraries, a message that a rank waits for was seen one turn after it was taken in.
    link.told_next_turn = true;
    if (link.scope == Scope::node || connection <= 0) continue;
    link.connection_way_bytes_per_s = connection;
    link.gap = link.gap.at_most(connection);
  }
  const double payload = static_cast<double>(facts.link_burst_bytes) * ethernet::payload_share;
  for (NodeEntry& node : topology.nodes) node.burst_bytes = payload;
}

}  // namespace antiphon
