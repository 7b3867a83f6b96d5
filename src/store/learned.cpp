// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "antiphon/error.hpp"
#include "antiphon/select.hpp"
#include "antiphon/store.hpp"
#include "json/node.hpp"

namespace antiphon {

namespace {

constexpr std::size_t most_learned_bytes = std::size_t{16} << 20;
constexpr std::size_t most_learned_rules = 4096;
/// A rate is measured again after a month: links are replaced, and virtual machines move. One measurement alone may
/// have been taken beside another job.
constexpr std::int64_t link_age_s = 30 * 24 * 3600, unconfirmed_age_s = 3600;
constexpr double agreement = 0.15;

bool agree(std::int64_t a, std::int64_t b) {
  return static_cast<double>(std::abs(a - b)) <= agreement * static_cast<double>(std::max(a, b));
}

/// Returns a rule's conditions alone: all but its answer and the reason.
Json conditions_of(const Json& rule) {
  Json conditions = rule;
  conditions.erase("use");
  conditions.erase("why");
  return conditions.sorted();
}

const Json* rules_of(const Json& decisions) { return decisions.find("rules"); }

}  // namespace

Learned Learned::parse(std::string_view text) {
  const Json document = JsonNode::parse(text, most_learned_bytes);
  const JsonNode node(document);
  if (!node.is_object()) node.fail("expected an object with \"format\": \"antiphon-learned\"");
  const JsonNode format = node.at("format");
  if (format.text() != "antiphon-learned") format.fail("expected \"antiphon-learned\"");
  const JsonNode version = node.at("version");
  if (version.integer() != 1) version.fail("this Antiphon reads version 1");
  node.allow_only({"format", "version", "link", "decisions", "evidence"});
  Learned learned;
  if (const auto link = node.find("link")) {
    link->allow_only({"bits_per_s", "connection_bits_per_s", "measured_s", "confirmed"});
    learned.link_bits_per_s = link->at("bits_per_s").integer(1, INT64_C(1) << 50);
    if (const auto one = link->find("connection_bits_per_s"))
      learned.connection_bits_per_s = one->integer(1, learned.link_bits_per_s);
    learned.link_measured_s = link->at("measured_s").integer(0, INT64_C(1) << 40);
    if (const auto confirmed = link->find("confirmed")) learned.link_is_confirmed = confirmed->boolean();
  }
  if (const auto decisions = node.find("decisions")) {
    const JsonNode rules = decisions->at("rules");
    (void)rules.array_size(most_learned_rules);
    learned.decisions = document.at("decisions");
    (void)Rules::parse(learned.decisions.dump());
  }
  if (const Json* evidence = document.find("evidence")) learned.evidence = *evidence;
  return learned;
}

Json Learned::to_json() const {
  Json document{{"format", "antiphon-learned"}, {"version", 1}};
  if (link_bits_per_s > 0) {
    document["link"] = {
        {"bits_per_s", link_bits_per_s}, {"measured_s", link_measured_s}, {"confirmed", link_is_confirmed}};
  }
  if (link_bits_per_s > 0 && connection_bits_per_s > 0)
    document["link"]["connection_bits_per_s"] = connection_bits_per_s;
  if (!decisions.is_null()) document["decisions"] = decisions;
  if (!evidence.is_null()) document["evidence"] = evidence;
  return document;
}

bool Learned::knows_link(std::int64_t now_s) const {
  const std::int64_t most_s = link_is_confirmed ? link_age_s : unconfirmed_age_s;
  return link_bits_per_s > 0 && link_measured_s <= now_s && now_s - link_measured_s < most_s;
}

void Learned::merge(const Learned& later) {
  if (later.link_bits_per_s > 0) {
    link_is_confirmed = agree(link_bits_per_s, later.link_bits_per_s);
    link_bits_per_s = later.link_bits_per_s;
    connection_bits_per_s = later.connection_bits_per_s;
    link_measured_s = later.link_measured_s;
  }
  if (!later.evidence.is_null()) evidence = later.evidence;
  const Json* const fresh = rules_of(later.decisions);
  if (fresh == nullptr) return;
  Json merged = Json::array();
  std::set<std::string> known;
  for (const Json* rules : {fresh, rules_of(decisions)}) {
    if (rules == nullptr) continue;
    for (const Json& rule : *rules) {
      if (merged.size() >= most_learned_rules) break;
      if (known.insert(conditions_of(rule).dump()).second) merged.push_back(rule);
    }
  }
  decisions = {{"version", 1}, {"rules", std::move(merged)}};
}

}  // namespace antiphon
