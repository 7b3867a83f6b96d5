// SPDX-License-Identifier: Apache-2.0
// Which values of algorithms' parameters are worth trying, and which the network does not bear.
#include "cost/values.hpp"

#include <algorithm>
#include <cmath>

#include "antiphon/cost.hpp"

namespace antiphon {

std::string_view name(Role role) {
  switch (role) {
    case Role::piece: return "piece";
    case Role::ahead: return "ahead";
    case Role::at_once: return "at_once";
    case Role::leaders: return "leaders";
    case Role::fanout: return "fanout";
    case Role::mode: return "mode";
    case Role::border: return "border";
    case Role::amount: return "amount";
  }
  return "";
}

namespace {

/// A port that is full but for this share of it is full.
constexpr double nearly = 0.95;

/// One message may begin while another ends, so the search looks one step beyond what was seen to pay.
std::vector<std::int64_t> numbers_at_once(const PredictedCall& call, const Cluster& cluster) {
  const Concurrency* const measured = measured_concurrency(call, cluster);
  const std::int64_t lanes = lanes_of(call.collective, cluster);
  if (measured == nullptr) return {1, 2, 4, lanes};
  std::vector<std::int64_t> values{measured->index, lanes};
  for (std::int64_t value = 1; value <= 2 * measured->index; value *= 2) values.push_back(value);
  return values;
}

std::vector<std::int64_t> halves_of(std::int64_t bytes) {
  std::vector<std::int64_t> values;
  for (std::int64_t size = bytes / 2; size >= least_piece_bytes; size /= 2) values.push_back(size);
  return values;
}

std::vector<std::int64_t> all_values(const Parameter& p) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = p.min; value <= p.max; ++value) values.push_back(value);
  return values;
}

std::vector<std::int64_t> values_for(const Parameter& p, const PredictedCall& call, const Cluster& cluster) {
  const std::int64_t usual = p.default_value;
  switch (p.role) {
    case Role::piece: return halves_of(call.bytes);
    case Role::ahead: {
      const int lanes = lanes_of(call.collective, cluster);
      return {1, 2, 4, 8, lanes, ahead_on_lanes * lanes};
    }
    case Role::at_once: return numbers_at_once(call, cluster);
    case Role::leaders: return {2, 4, 8, 16};
    case Role::fanout: return {0, 1, 2, 3, 4, 8, 16, cluster.ranks()};
    case Role::mode: return all_values(p);
    // No message, one block, all blocks together.
    case Role::border: return {p.min, call.bytes, call.bytes * cluster.ranks()};
    case Role::amount: return {usual / 4, usual / 2, 2 * usual, 4 * usual};
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> values_to_try(const Parameter& parameter, const PredictedCall& call, const Cluster& cluster) {
  std::vector<std::int64_t> wanted = values_for(parameter, call, cluster);
  wanted.push_back(parameter.default_value);
  std::vector<std::int64_t> values;
  for (const std::int64_t value : wanted) {
    const bool possible = value >= parameter.min && value <= parameter.max;
    if (possible && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

double measured_port_share(const Cluster& cluster) {
  const double one = cluster.longest_link().connection_way_bytes_per_s;
  return one > 0 ? std::min(1.0, one / cluster.profile().port_bytes_per_s()) : 1;
}

int lanes_of(Collective collective, const Cluster& cluster) {
  const double port = cluster.profile().port_bytes_per_s();
  const double one = cluster.longest_link().one_connection(port);
  // Where a root sends to all, or gets from them, no other rank of its node does so.
  const bool by_one = has_root(collective) && has_blocks(collective);
  const double of_node = by_one ? 1 : static_cast<double>(cluster.ranks()) / cluster.nodes();
  return std::max(1, static_cast<int>(std::ceil(nearly * port / one / of_node)));
}

std::optional<std::size_t> parameter_for(Role role, const Algorithm& algorithm) {
  const auto& all = algorithm.parameters;
  const auto found = std::find_if(all.begin(), all.end(), [role](const Parameter& p) { return p.role == role; });
  return found == all.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - all.begin()));
}

int leaders_of(const Algorithm& algorithm, const Parameters& parameters, const PredictedCall& call) {
  if (call.node_sizes.empty()) return 1;
  const int smallest = *std::min_element(call.node_sizes.begin(), call.node_sizes.end());
  const auto leaders = parameter_for(Role::leaders, algorithm);
  return leaders ? std::min(static_cast<int>(parameters[*leaders].value), smallest) : 1;
}

std::vector<const Algorithm*> algorithms_on(const Cluster& cluster, Collective collective) {
  auto algorithms = algorithms_for(collective);
  if (lanes_of(collective, cluster) == 1)
    std::erase_if(algorithms, [](const Algorithm* a) { return a->many_connections; });
  return algorithms;
}

bool within_credit(const Algorithm& algorithm, const Parameters& parameters, const PredictedCall& call,
                   const Cluster& cluster) {
  const std::int64_t credit = cluster.profile().contention.credit_bytes;
  if (credit <= 0) return true;
  std::int64_t piece = -1;
  std::int64_t ahead = 1;
  std::int64_t at_once = 1;
  std::int64_t leaders = 1;
  for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
    const Parameter& p = algorithm.parameters[i];
    const std::int64_t value = parameters[i].value;
    if (p.role == Role::piece) piece = value == 0 ? call.bytes : std::min(value, std::max<std::int64_t>(call.bytes, 1));
    if (p.role == Role::ahead) ahead *= value;
    if (p.role == Role::at_once) at_once *= value;
    if (p.role == Role::leaders) leaders = value;
    // What nobody asks for may come from all ranks at once.
    const bool unasked = p.role == Role::border && value != p.default_value && value >= call.bytes;
    if (unasked && call.bytes * (cluster.ranks() - 1) > credit) return false;
  }
  // Connections that together are no faster than the port leave nothing waiting in it.
  const std::int64_t connections = (at_once > 1 ? at_once : ahead) * leaders;
  const int lanes = lanes_of(call.collective, cluster);
  if (lanes > 1 && connections <= lanes) return true;
  if (piece <= least_piece_bytes) return true;
  // Each leader sends a part of the message.
  return std::min(piece, (call.bytes + leaders - 1) / leaders) * ahead * at_once * leaders <= credit;
}

std::vector<Parameters> variations(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
                                   const Cluster& cluster) {
  std::vector<Parameters> found;
  for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
    const Parameter& p = algorithm.parameters[i];
    if (p.role == Role::piece || p.role == Role::ahead || p.role == Role::fanout) continue;
    for (const std::int64_t value : values_to_try(p, call, cluster)) {
      Parameters changed = parameters;
      changed[i].value = value;
      if (value != parameters[i].value && within_credit(algorithm, changed, call, cluster)) found.push_back(changed);
    }
  }
  return found;
}

}  // namespace antiphon
