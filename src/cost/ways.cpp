// SPDX-License-Identifier: Apache-2.0
#include "cost/ways.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cost/values.hpp"

namespace antiphon {

namespace {

/// Lengths of pieces on several connections, over the usual one.
constexpr std::array longer_on_lanes{0.25, 4.0, 16.0};
/// Of messages that otherwise go whole: those wait for their receivers, which may be about to send themselves.
constexpr std::int64_t piece_on_lanes_bytes = 8192;
/// Of a node's ranks, so many are tried as leaders first.
constexpr std::int64_t some_leaders = 4;

/// Returns the numbers of connections worth trying at once. A few more than fill a port share it: a second round with
/// the rest would leave most of it unused.
std::vector<int> numbers_on_lanes(int lanes, int partners) {
  std::vector<int> counts{lanes, ahead_on_lanes * lanes};
  if (partners > lanes && partners <= 2 * lanes) counts.push_back(partners);
  return counts;
}

/// Adds, where one connection does not fill a port, the parameters with which as many are used as do.
void add_lanes(std::vector<Parameters>& ways, const Algorithm& algorithm, int lanes, int partners) {
  if (lanes <= 1) return;
  const Role role = parameter_for(Role::at_once, algorithm) ? Role::at_once : Role::ahead;
  const auto add = [&](int count, double longer) {
    Parameters way = ways.front();
    for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
      const Parameter& p = algorithm.parameters[i];
      if (p.role == role) way[i].value = std::clamp<std::int64_t>(count, p.min, p.max);
      const std::int64_t usual = way[i].value > 0 ? way[i].value : piece_on_lanes_bytes;
      if (p.role == Role::piece) way[i].value = static_cast<std::int64_t>(longer * static_cast<double>(usual));
    }
    ways.push_back(way);
  };
  for (const int count : numbers_on_lanes(lanes, partners)) add(count, 1);
  // A slow connection takes long for a piece, which counts where pieces pass many ranks. Long pieces are soon
  // evaluated.
  if (!algorithm.many_connections) return;
  for (const double longer : longer_on_lanes) add(lanes, longer);
}

/// Adds shorter pieces for what goes over uplinks: where switches hold different numbers of ranks, rings have gaps.
void add_pieces_for_uplinks(std::vector<Parameters>& ways, const Algorithm& algorithm) {
  const auto parameters = algorithm.parameters;
  const auto find = [&](auto is) { return std::find_if(parameters.begin(), parameters.end(), is); };
  if (find([](const Parameter& p) { return p.name == "uplink_bytes"; }) == parameters.end()) return;
  const auto piece = find([](const Parameter& p) { return p.role == Role::piece; });
  for (const std::int64_t bytes : piece_sizes) {
    if (bytes >= piece->default_value) continue;
    ways.push_back(resolve_parameters(algorithm, {{std::string(piece->name), bytes}}));
  }
}

/// Returns the parameters with each algorithm that may run among nodes.
std::vector<Parameters> among_nodes(const Algorithm& algorithm) {
  std::vector<Parameters> ways;
  const Parameter& outer = algorithm.parameters.front();
  for (std::int64_t value = outer.min; value <= outer.max; ++value)
    ways.push_back(resolve_parameters(algorithm, {{std::string(outer.name), value}}));
  return ways;
}

/// A slow connection takes long for a piece, which counts where pieces pass many ranks.
Parameters with_shorter_pieces(const Algorithm& algorithm, Parameters parameters) {
  if (const auto piece = parameter_for(Role::piece, algorithm))
    parameters[*piece].value = std::max(parameters[*piece].value / 4, least_piece_bytes);
  return parameters;
}

std::vector<Parameters> those_within_credit(std::vector<Parameters> ways, const Algorithm& algorithm,
                                            const PredictedCall& call, const Cluster& cluster) {
  std::erase_if(ways, [&](const Parameters& way) { return !within_credit(algorithm, way, call, cluster); });
  return ways;
}

}  // namespace

std::optional<Parameters> with_leaders(const Algorithm& algorithm, Parameters parameters, std::int64_t leaders,
                                       const PredictedCall& call, const Cluster& cluster) {
  const auto place = parameter_for(Role::leaders, algorithm);
  if (!place) return std::nullopt;
  const std::int64_t most = algorithm.parameters[*place].max;
  if (leaders > std::min<std::int64_t>(cluster.ranks() / cluster.nodes(), most)) return std::nullopt;
  parameters[*place].value = leaders;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = algorithm.parameters[i];
    std::int64_t& pieces = parameters[i].value;
    while (p.role == Role::ahead && pieces > p.min && !within_credit(algorithm, parameters, call, cluster)) pieces /= 2;
  }
  return parameters;
}

std::vector<Parameters> ways_of(const Algorithm& algorithm, const PredictedCall& call, const Cluster& cluster) {
  std::vector<Parameters> ways{resolve_parameters(algorithm, {})};
  add_lanes(ways, algorithm, lanes_of(call.collective, cluster), cluster.ranks() - 1);
  add_pieces_for_uplinks(ways, algorithm);
  if (algorithm.levels) {
    const auto others = among_nodes(algorithm);
    std::copy_if(others.begin(), others.end(), std::back_inserter(ways),
                 [&](const Parameters& p) { return p != ways.front(); });
  }
  return those_within_credit(std::move(ways), algorithm, call, cluster);
}

std::vector<Parameters> ways_by_leaders(const Algorithm& algorithm, const PredictedCall& call, const Cluster& cluster) {
  std::vector<Parameters> ways;
  const bool slow = measured_port_share(cluster) < 1;
  for (const Parameters& one : among_nodes(algorithm)) {
    const auto way = with_leaders(algorithm, one, some_leaders, call, cluster);
    if (!way) continue;
    ways.push_back(*way);
    if (slow) ways.push_back(with_shorter_pieces(algorithm, *way));
  }
  return those_within_credit(std::move(ways), algorithm, call, cluster);
}

}  // namespace antiphon
