// SPDX-License-Identifier: Apache-2.0
#include "capi/requests.hpp"

#include <array>
#include <optional>

#include "antiphon/error.hpp"
#include "antiphon/select.hpp"
#include "antiphon/verify.hpp"
#include "schedule/json_node.hpp"

namespace antiphon {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_request_bytes = std::size_t{64} << 20;
/// Bounds of what may be asked for: generous for a cluster, too small to exhaust the asking process.
constexpr std::int64_t max_ranks = 65536;
constexpr std::int64_t max_bytes = std::int64_t{1} << 40;

Collective read_collective(const JsonNode& request) {
  const JsonNode node = request.at("collective");
  const auto collective = collective_from_name(node.text());
  if (!collective) node.fail("\"" + node.text() + "\" is not a collective");
  return *collective;
}

Question read_question(const JsonNode& request) {
  Question q;
  q.collective = read_collective(request);
  q.ranks = static_cast<int>(request.integer_or("ranks", 1, 1, max_ranks));
  q.nodes = static_cast<int>(request.integer_or("nodes", q.ranks, 1, q.ranks));
  q.max_ranks_per_node = static_cast<int>(request.integer_or("max_ranks_per_node", (q.ranks + q.nodes - 1) / q.nodes, 1, q.ranks));
  q.bytes = request.integer_or("bytes", -1, -1, max_bytes);
  q.element_bytes = request.integer_or("element_bytes", 1, 1, 65536);
  q.commutative = request.boolean_or("commutative", true);
  q.link_bits_per_s = request.integer_or("link_bits_per_s", 0, 0, INT64_MAX);
  return q;
}

Json json_of(const Parameters& parameters) {
  Json out = Json::object();
  for (const ParameterValue& p : parameters) out[p.name] = p.value;
  return out;
}

Json json_of(const Algorithm& a) {
  Json parameters = Json::array();
  for (const Parameter& p : a.parameters) {
    parameters.push_back({{"name", p.name}, {"default", p.default_value}, {"min", p.min}, {"max", p.max}, {"meaning", p.meaning}});
  }
  return {{"collective", name(a.collective)},
          {"name", a.name},
          {"summary", a.summary},
          {"parameters", parameters},
          {"supports_all", a.supports == nullptr},
          {"needs_all_counts", a.knowledge == Knowledge::all_counts}};
}

Json collectives(const JsonNode&) {
  Json list = Json::array();
  for (int i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    list.push_back({{"name", name(c)}, {"has_root", has_root(c)}, {"is_reduction", is_reduction(c)}, {"is_irregular", is_irregular(c)}});
  }
  return {{"collectives", list}};
}

Json list_algorithms(const JsonNode& request) {
  Json list = Json::array();
  std::optional<Collective> only;
  if (request.find("collective")) only = read_collective(request);
  for (const Algorithm* a : algorithms()) {
    if (!only || a->collective == *only) list.push_back(json_of(*a));
  }
  return {{"algorithms", list}};
}

Json choose(const JsonNode& request) {
  const Question question = read_question(request);
  const bool own = request.boolean_or("own", false);
  const auto profile = request.find("profile");
  std::optional<Rules> of_profile;
  if (profile) of_profile = Rules::of_profile(profile->text());
  const Rules& rules = of_profile ? *of_profile : Rules::defaults();
  const Choice& choice = own ? rules.choose_own(question) : rules.choose(question);
  Json algorithm = nullptr;
  if (choice.algorithm != nullptr) algorithm = choice.algorithm->name;
  return {{"choice", choice.to_string()}, {"algorithm", algorithm}, {"parameters", json_of(choice.parameters)}, {"reason", choice.reason}};
}

Json version(const JsonNode&) { return {{"version", ANTIPHON_VERSION}}; }

struct Request {
  std::string_view name;
  Json (*handle)(const JsonNode&);
};

constexpr std::array requests{
    Request{"version", version},
    Request{"collectives", collectives},
    Request{"algorithms", list_algorithms},
    Request{"choose", choose},
};

Json handle(const JsonNode& request) {
  const JsonNode wanted = request.at("request");
  for (const Request& r : requests) {
    if (r.name == wanted.text()) return r.handle(request);
  }
  wanted.fail("\"" + wanted.text() + "\" is not a request");
}

}  // namespace

std::string answer(std::string_view text) {
  Json response;
  try {
    const nlohmann::json document = JsonNode::parse(text, max_request_bytes);
    response = handle(JsonNode(document));
    response["ok"] = true;
  } catch (const std::exception& error) {
    response = {{"ok", false}, {"error", error.what()}};
  }
  return response.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace antiphon
