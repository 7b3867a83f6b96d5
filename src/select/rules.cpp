// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "antiphon/error.hpp"
#include "antiphon/select.hpp"
#include "json/node.hpp"
#include "select/default_rules.hpp"

namespace antiphon {

namespace {

constexpr std::size_t max_document_bytes = std::size_t{64} << 20;
constexpr std::size_t max_rules = 65536;

/// Inclusive bounds.
struct Bounds {
  std::int64_t min = INT64_MIN;
  std::int64_t max = INT64_MAX;
  [[nodiscard]] bool hold(std::int64_t value) const { return min <= value && value <= max; }
  [[nodiscard]] bool any() const { return min == INT64_MIN && max == INT64_MAX; }
};

struct Rule {
  Bounds bytes, ranks, ranks_per_node, nodes, link_bits_per_s, stride;
  std::optional<bool> commutative, exact, blocked, nonblocking, shares_cores;
  std::string mpi, transport;
  Choice choice;
  Problem problem;  ///< everything for supports() that the question does not say

  [[nodiscard]] bool matches(const Question& q) const {
    const bool size_fits = q.bytes < 0 ? bytes.any() : bytes.hold(q.bytes);
    return size_fits && ranks.hold(q.ranks) && ranks_per_node.hold(q.max_ranks_per_node) && nodes.hold(q.nodes) &&
           link_bits_per_s.hold(q.link_bits_per_s) && stride.hold(q.stride) &&
           commutative.value_or(q.commutative) == q.commutative && exact.value_or(q.exact) == q.exact &&
           blocked.value_or(q.blocked) == q.blocked && nonblocking.value_or(q.nonblocking) == q.nonblocking &&
           shares_cores.value_or(q.shares_cores) == q.shares_cores && (mpi.empty() || mpi == q.mpi) &&
           (transport.empty() || transport == q.transport) && supported(q);
  }

  [[nodiscard]] bool supported(const Question& q) const {
    if (choice.algorithm != nullptr && choice.algorithm->multicasts && !q.multicasts) return false;
    if (choice.algorithm == nullptr || choice.algorithm->supports == nullptr) return true;
    Problem asked = problem;
    asked.size = q.ranks;
    asked.bytes = std::max(q.bytes, std::int64_t{0});
    asked.element_bytes = q.element_bytes;
    asked.commutative = q.commutative;
    asked.node_sizes = blocked_nodes(q.ranks, q.max_ranks_per_node);
    if (q.max_ranks_per_switch > 0) asked.switch_sizes = blocked_nodes(q.ranks, q.max_ranks_per_switch);
    return choice.algorithm->supports(asked);
  }
};

using Table = std::array<std::vector<Rule>, collective_count>;

std::int64_t bound(const JsonNode& pair, std::size_t i, std::int64_t otherwise) {
  const JsonNode node = pair.element(i);
  return node.is_null() ? otherwise : node.integer(0);
}

Bounds read_bounds(const JsonNode& rule, std::string_view key) {
  const auto pair = rule.find(key);
  if (!pair) return {};
  if (!pair->is_array() || pair->array_size() != 2) pair->fail("expected [min, max]");
  const Bounds bounds{bound(*pair, 0, INT64_MIN), bound(*pair, 1, INT64_MAX)};
  if (bounds.min > bounds.max) pair->fail("the minimum is above the maximum");
  return bounds;
}

Choice read_choice(const JsonNode& rule, Collective collective) {
  const JsonNode use = rule.at("use");
  const std::string& text = use.text();
  try {
    return parse_choice(collective, text);
  } catch (const InvalidArgument& error) {
    use.fail(error.what());
  }
}

std::vector<Collective> read_collectives(const JsonNode& rule) {
  const JsonNode node = rule.at("collective");
  std::vector<Collective> collectives;
  for (int c = 0; c < collective_count; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (node.text() == "*" || node.text() == name(collective)) collectives.push_back(collective);
  }
  if (collectives.empty()) node.fail("\"" + node.text() + "\" is not a collective");
  return collectives;
}

double seconds_or_0(const JsonNode& rule, std::string_view key) {
  constexpr double max_seconds = 1e9;
  const auto field = rule.find(key);
  return field ? field->number(0, max_seconds) : 0;
}

/// Reads what a question must be for the rule to match.
Rule read_conditions(const JsonNode& node) {
  node.allow_only({"collective", "bytes", "ranks", "ranks_per_node", "nodes", "link_bits_per_s", "commutative", "exact",
                   "blocked", "nonblocking", "shares_cores", "stride", "transport", "mpi", "use", "why", "calls",
                   "expected_s", "saves_s"});
  Rule rule;
  rule.bytes = read_bounds(node, "bytes");
  rule.ranks = read_bounds(node, "ranks");
  rule.ranks_per_node = read_bounds(node, "ranks_per_node");
  rule.nodes = read_bounds(node, "nodes");
  rule.link_bits_per_s = read_bounds(node, "link_bits_per_s");
  rule.stride = read_bounds(node, "stride");
  if (const auto commutative = node.find("commutative")) rule.commutative = commutative->boolean();
  if (const auto exact = node.find("exact")) rule.exact = exact->boolean();
  if (const auto blocked = node.find("blocked")) rule.blocked = blocked->boolean();
  if (const auto nonblocking = node.find("nonblocking")) rule.nonblocking = nonblocking->boolean();
  if (const auto shares_cores = node.find("shares_cores")) rule.shares_cores = shares_cores->boolean();
  if (const auto mpi = node.find("mpi")) {
    rule.mpi = mpi->text();
    if (rule.mpi != "openmpi" && rule.mpi != "mpich") mpi->fail("expected \"openmpi\" or \"mpich\"");
  }
  if (const auto transport = node.find("transport")) {
    rule.transport = transport->text();
    if (rule.transport != "tcp" && rule.transport != "other") transport->fail("expected \"tcp\" or \"other\"");
  }
  return rule;
}

void read_rule(const JsonNode& node, Table& table, bool planned) {
  Rule rule = read_conditions(node);
  const auto why = node.find("why");
  const std::string reason = why ? why->text() : node.path();
  (void)node.integer_or("calls", 0, 0, INT64_MAX);
  (void)seconds_or_0(node, "expected_s");
  const double saves_s = seconds_or_0(node, "saves_s");
  for (const Collective collective : read_collectives(node)) {
    rule.choice = read_choice(node, collective);
    rule.choice.reason = reason;
    rule.choice.planned = planned;
    rule.choice.saves_s = saves_s;
    rule.problem.collective = collective;
    rule.problem.parameters = rule.choice.parameters;
    table[static_cast<std::size_t>(collective)].push_back(rule);
  }
}

void read_table(const JsonNode& node, Table& table, bool planned = false) {
  node.allow_only({"version", "rules"});
  const JsonNode version = node.at("version");
  if (version.integer() != 1) version.fail("this Antiphon reads version 1 of rules");
  const JsonNode rules = node.at("rules");
  const std::size_t count = rules.array_size(max_rules);
  for (std::size_t i = 0; i < count; ++i) read_rule(rules.element(i), table, planned);
}

const Choice& no_rule() {
  static const Choice none{nullptr, {}, "no rule matches"};
  return none;
}

}  // namespace

struct Rules::Impl {
  Table by_collective;                                     ///< each collective's rules, in the document's order
  std::array<std::size_t, collective_count> of_profile{};  ///< so many of them are a profile's

  [[nodiscard]] const Choice& first_match(const Question& question, bool own) const {
    for (const Rule& rule : by_collective[static_cast<std::size_t>(question.collective)]) {
      if (own && rule.choice.algorithm == nullptr) continue;
      if (rule.matches(question)) return rule.choice;
    }
    return no_rule();
  }
};

Rules::Rules() : impl_(std::make_unique<Impl>()) {}
Rules::~Rules() = default;
Rules::Rules(Rules&&) noexcept = default;
Rules& Rules::operator=(Rules&&) noexcept = default;

Rules Rules::parse(std::string_view text) {
  const Json document = JsonNode::parse(text, max_document_bytes);
  Rules rules;
  read_table(JsonNode(document), rules.impl_->by_collective);
  return rules;
}

Rules Rules::of_profile(std::string_view text) { return of_run("", text); }

void Rules::check(const JsonNode& decisions) {
  Table table;
  read_table(decisions, table, true);
}

Rules Rules::of_run(std::string_view plan, std::string_view profile) {
  Rules rules;
  Table& table = rules.impl_->by_collective;
  if (!plan.empty()) {
    const Json document = JsonNode::parse(plan, max_document_bytes);
    read_table(JsonNode(document), table, true);
  }
  if (!profile.empty()) {
    const Json document = JsonNode::parse(profile, max_document_bytes);
    const JsonNode root(document);
    if (const auto decisions = root.find("decisions")) read_table(*decisions, table);
  }
  const Table& defaults = Rules::defaults().impl_->by_collective;
  for (std::size_t c = 0; c < table.size(); ++c) {
    rules.impl_->of_profile[c] = table[c].size();
    table[c].insert(table[c].end(), defaults[c].begin(), defaults[c].end());
  }
  return rules;
}

const Rules& Rules::defaults() {
  static const Rules table = parse(default_rules_json);
  return table;
}

bool Rules::act_on_one_node(Collective collective, std::string_view mpi, bool shares_cores) const {
  const auto& rules = impl_->by_collective[static_cast<std::size_t>(collective)];
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return rule.choice.algorithm != nullptr && rule.nodes.max == 1 && (rule.mpi.empty() || rule.mpi == mpi) &&
           rule.shares_cores.value_or(shares_cores) == shares_cores;
  });
}

bool Rules::decides(const Question& question) const {
  const auto c = static_cast<std::size_t>(question.collective);
  const auto& rules = impl_->by_collective[c];
  const auto end = rules.begin() + static_cast<std::ptrdiff_t>(impl_->of_profile[c]);
  return std::any_of(rules.begin(), end, [&](const Rule& rule) { return rule.matches(question); });
}

const Choice& Rules::choose(const Question& question) const { return impl_->first_match(question, false); }
const Choice& Rules::choose_own(const Question& question) const { return impl_->first_match(question, true); }

}  // namespace antiphon
