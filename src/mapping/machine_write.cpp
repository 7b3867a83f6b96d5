// SPDX-License-Identifier: Apache-2.0
#include "mapping/json.hpp"

namespace antiphon::mapping {

namespace {

Json rate_of(double seconds_per_byte) { return seconds_per_byte > 0 ? Json(1 / seconds_per_byte) : Json(nullptr); }

Json json_of(const Distance& d) { return {{"latency_s", d.latency_s}, {"bytes_per_s", rate_of(d.seconds_per_byte)}}; }

/// Writes a square matrix of costs as the two matrices that read_matrices() takes.
Json json_of(const std::vector<Distance>& matrix, std::size_t rows) {
  Json latency = Json::array();
  Json rate = Json::array();
  for (std::size_t i = 0; i < rows; ++i) {
    Json latencies = Json::array();
    Json rates = Json::array();
    for (std::size_t j = 0; j < rows; ++j) {
      latencies.push_back(matrix[i * rows + j].latency_s);
      rates.push_back(rate_of(matrix[i * rows + j].seconds_per_byte));
    }
    latency.push_back(std::move(latencies));
    rate.push_back(std::move(rates));
  }
  return {{"latency_s", latency}, {"bytes_per_s", rate}};
}

Json json_of(const Machine& machine, const Node& node) {
  const NodeKind& kind = machine.kinds[static_cast<std::size_t>(node.kind)];
  Json out{{"name", node.name},
           {"switch", machine.switches[static_cast<std::size_t>(node.switch_index)].name},
           {"cores", kind.cores}};
  if (node.port_bytes_per_s > 0) out["port_bytes_per_s"] = node.port_bytes_per_s;
  if (!kind.between.empty()) out["between_cores"] = json_of(kind.between, static_cast<std::size_t>(kind.cores));
  Json levels = Json::array();
  for (const Level& level : kind.levels) {
    Json one{{"width", level.width}};
    one.update(json_of(level.distance));
    levels.push_back(one);
  }
  if (!levels.empty()) out["levels"] = levels;
  return out;
}

}  // namespace

Json json_of(const Machine& machine) {
  Json switches = Json::array();
  for (const Switch& s : machine.switches) {
    Json one{{"name", s.name}};
    if (s.parent >= 0) one["parent"] = machine.switches[static_cast<std::size_t>(s.parent)].name;
    if (s.uplink_bytes_per_s > 0) one["uplink_bytes_per_s"] = s.uplink_bytes_per_s;
    one.update(json_of(s.within));
    if (s.across != s.within) one["across"] = json_of(s.across);
    switches.push_back(one);
  }
  Json nodes = Json::array();
  for (const Node& n : machine.nodes) nodes.push_back(json_of(machine, n));
  Json out{{"name", machine.name}, {"switches", switches}, {"nodes", nodes}};
  if (machine.torus)
    out["torus"] = {{"dims", machine.torus->dims}, {"link_bytes_per_s", machine.torus->link_bytes_per_s}};
  if (!machine.between_nodes.empty()) out["between_nodes"] = json_of(machine.between_nodes, machine.nodes.size());
  if (!machine.between_cores.empty())
    out["between_cores"] = json_of(machine.between_cores, static_cast<std::size_t>(machine.cores()));
  return out;
}

}  // namespace antiphon::mapping
