// SPDX-License-Identifier: Apache-2.0
#include "antiphon/run_plan.hpp"

#include "antiphon/select.hpp"
#include "phases/json.hpp"

namespace antiphon {

namespace {

constexpr int plan_version = 2;
constexpr std::size_t max_plan_bytes = std::size_t{1} << 30;
constexpr std::int64_t max_plan_ranks = 1 << 20;
constexpr double max_saved_s = 1e9;

void read_made_for(const JsonNode& node, RunPlan& plan) {
  node.allow_only({"program", "arguments", "ranks", "nodes", "mpi", "machine"});
  plan.ranks = static_cast<int>(node.at("ranks").integer(1, max_plan_ranks));
  plan.nodes = static_cast<int>(node.at("nodes").integer(1, plan.ranks));
}

void read_placement(const JsonNode& node, RunPlan& plan) {
  const JsonNode nodes = node.at("nodes");
  const JsonNode places = node.at("node_of_rank");
  const auto count = static_cast<std::int64_t>(nodes.array_size(max_plan_ranks));
  if (places.array_size(max_plan_ranks) != static_cast<std::size_t>(plan.ranks))
    places.fail("expected a node for each of the " + std::to_string(plan.ranks) + " ranks");
  for (std::size_t rank = 0; rank < places.array_size(); ++rank)
    plan.placed.push_back(static_cast<int>(places.element(rank).integer(0, count - 1)));
  if (const auto saves = node.find("saves_s")) plan.placement_saves_s = saves->number(0, max_saved_s);
}

}  // namespace

RunPlan run_plan_from_json(std::string_view text) {
  const Json document = JsonNode::parse(text, max_plan_bytes);
  const JsonNode root(document);
  RunPlan plan;
  const JsonNode number = root.at("version");
  if (!root.find("format")) {
    plan.patterns = read_compiled_plan(root).patterns;
    return plan;
  }
  root.allow_only(
      {"format", "version", "tool", "made_for", "placement", "decisions", "patterns", "compression", "expected"});
  const JsonNode format = root.at("format");
  if (format.text() != "antiphon-plan") format.fail("expected \"antiphon-plan\"");
  if (number.integer() != plan_version)
    number.fail("this Antiphon reads version " + std::to_string(plan_version) + " of plans, and 1 of compiled ones");
  const JsonNode made_for = root.at("made_for");
  read_made_for(made_for, plan);
  if (const auto placement = root.find("placement")) read_placement(*placement, plan);
  if (const auto patterns = root.find("patterns")) plan.patterns = read_compiled_patterns(*patterns);
  if (const auto decisions = root.find("decisions")) {
    Rules::check(*decisions);
    plan.decisions = document.at("decisions").dump();
  }
  return plan;
}

}  // namespace antiphon
