// SPDX-License-Identifier: Apache-2.0
#include "capi/cases.hpp"

#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"
#include "antiphon/select.hpp"

namespace antiphon {

namespace {

/// This bound is generous for a cluster, and too small to exhaust the asking process.
constexpr std::int64_t max_bytes = std::int64_t{1} << 40;

std::vector<Problem> problems(const AlgorithmCase& c) {
  const bool equal = is_irregular(c.call.collective) && c.call.seed == 0;
  if (!equal) return problems_of(c.call, c.algorithm->knowledge);
  std::vector<Problem> all;
  for (int rank = 0; rank < c.call.size; ++rank) {
    Problem p{c.call.collective,  rank,           c.call.size, c.call.root, c.call.bytes, c.call.element_bytes,
              c.call.commutative, c.call.in_place};
    p.parameters = c.call.parameters;
    p.node_sizes = c.call.node_sizes;
    p.switch_sizes = c.call.switch_sizes;
    set_equal_blocks(p, c.algorithm->knowledge);
    all.push_back(std::move(p));
  }
  return all;
}

Schedule build(const Algorithm& algorithm, const Problem& problem) {
  if (!supports(algorithm, problem)) {
    throw InvalidArgument(std::string(name(algorithm.collective)) + ":" + std::string(algorithm.name) +
                          " does not support this call (" + std::to_string(problem.size) + " ranks, " +
                          std::to_string(problem.bytes) + " bytes" +
                          (problem.commutative ? "" : ", operands in order") + ")");
  }
  return build_schedule(algorithm, problem);
}

}  // namespace

Collective read_collective(const JsonNode& request) {
  const JsonNode node = request.at("collective");
  const auto collective = collective_from_name(node.text());
  if (collective) return *collective;
  std::string known;
  for (int i = 0; i < collective_count; ++i)
    known += (i == 0 ? "" : ", ") + std::string(name(static_cast<Collective>(i)));
  throw InvalidArgument("\"" + node.text() + "\" is not a collective (there are: " + known + ")");
}

std::vector<int> read_switch_sizes(const JsonNode& request, int ranks) {
  std::vector<int> sizes;
  const auto list = request.find("switch_sizes");
  if (!list) return sizes;
  int all = 0;
  const std::size_t count = list->array_size(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode size = list->element(i);
    sizes.push_back(static_cast<int>(size.integer(1, ranks)));
    all += sizes.back();
  }
  if (!sizes.empty() && all != ranks) list->fail("the switches hold " + std::to_string(all) + " ranks");
  return sizes;
}

AlgorithmCase read_case(const JsonNode& request) {
  AlgorithmCase c;
  c.call.collective = read_collective(request);
  c.call.size = static_cast<int>(request.at("size").integer(1, most_listed_ranks));
  c.call.root = static_cast<int>(request.integer_or("root", 0, 0, c.call.size - 1));
  c.call.bytes = request.integer_or("bytes", 0, 0, max_bytes);
  c.call.element_bytes = request.integer_or("element_bytes", 1, 1, 65536);
  c.call.commutative = request.boolean_or("commutative", true);
  c.call.in_place = request.boolean_or("in_place", false);
  c.call.node_sizes =
      blocked_nodes(c.call.size, static_cast<int>(request.integer_or("ranks_per_node", 1, 1, c.call.size)));
  c.call.switch_sizes = read_switch_sizes(request, c.call.size);
  c.call.seed = static_cast<std::uint64_t>(request.integer_or("seed", 0, 0, INT64_MAX));
  const Choice choice = parse_choice(c.call.collective, request.at("algorithm").text());
  if (choice.algorithm == nullptr)
    throw InvalidArgument("the library's own collective is not a schedule of Antiphon's");
  c.algorithm = choice.algorithm;
  c.call.parameters = choice.parameters;
  return c;
}

std::vector<Schedule> schedules_of(const AlgorithmCase& c) {
  std::vector<Schedule> schedules;
  for (const Problem& p : problems(c)) schedules.push_back(build(*c.algorithm, p));
  return schedules;
}

Schedule schedule_of(const AlgorithmCase& c, int rank) {
  return build(*c.algorithm, problems(c).at(static_cast<std::size_t>(rank)));
}

Plan plan_of(const AlgorithmCase& c, std::vector<Schedule> schedules) {
  Plan plan;
  plan.collective = c.call.collective;
  plan.algorithm = c.algorithm->name;
  plan.parameters = c.call.parameters;
  plan.size = c.call.size;
  plan.root = c.call.root;
  plan.bytes = c.call.bytes;
  plan.element_bytes = c.call.element_bytes;
  plan.commutative = c.call.commutative;
  plan.in_place = c.call.in_place;
  plan.schedules = std::move(schedules);
  return plan;
}

}  // namespace antiphon
