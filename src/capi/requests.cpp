// SPDX-License-Identifier: Apache-2.0
#include "capi/requests.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "antiphon/adapt.hpp"
#include "antiphon/error.hpp"
#include "antiphon/matrix.hpp"
#include "antiphon/replay.hpp"
#include "antiphon/select.hpp"
#include "capi/cases.hpp"
#include "capi/mapping_requests.hpp"
#include "capi/model_requests.hpp"
#include "capi/phases_requests.hpp"
#include "capi/settings_requests.hpp"
#include "capi/store_requests.hpp"
#include "network/processor_quota.hpp"
#include "schedule/json.hpp"

namespace antiphon {

namespace {

constexpr std::size_t max_request_bytes = std::size_t{64} << 20;
constexpr std::int64_t max_ranks = 1 << 20;
constexpr std::int64_t max_bytes = std::int64_t{1} << 40;

}  // namespace

Question read_question(const JsonNode& request) {
  Question q;
  q.collective = read_collective(request);
  q.ranks = static_cast<int>(request.integer_or("ranks", 1, 1, max_ranks));
  q.nodes = static_cast<int>(request.integer_or("nodes", q.ranks, 1, q.ranks));
  q.max_ranks_per_node =
      static_cast<int>(request.integer_or("max_ranks_per_node", (q.ranks + q.nodes - 1) / q.nodes, 1, q.ranks));
  q.bytes = request.integer_or("bytes", -1, -1, max_bytes);
  q.element_bytes = request.integer_or("element_bytes", 1, 1, 65536);
  q.commutative = request.boolean_or("commutative", true);
  q.link_bits_per_s = request.integer_or("link_bits_per_s", 0, 0, INT64_MAX);
  q.blocked = request.boolean_or("blocked", true);
  q.nonblocking = request.boolean_or("nonblocking", false);
  q.multicasts = !q.nonblocking;
  q.shares_cores = request.boolean_or("shares_cores", false);
  if (const auto transport = request.find("transport")) q.transport = transport->text();
  if (const auto mpi = request.find("mpi")) q.mpi = mpi->text();
  return q;
}

namespace {

Json json_of(const Parameters& parameters) {
  Json out = Json::object();
  for (const ParameterValue& p : parameters) out[p.name] = p.value;
  return out;
}

Json json_of(const Algorithm& a) {
  Json parameters = Json::array();
  for (const Parameter& p : a.parameters) {
    parameters.push_back({{"name", p.name},
                          {"role", name(p.role)},
                          {"default", p.default_value},
                          {"min", p.min},
                          {"max", p.max},
                          {"meaning", p.meaning}});
  }
  return {{"collective", name(a.collective)},
          {"name", a.name},
          {"summary", a.summary},
          {"parameters", parameters},
          {"supports_all", a.supports == nullptr},
          {"needs_all_counts", a.knowledge == Knowledge::all_counts},
          {"multicasts", a.multicasts},
          {"many_connections", a.many_connections}};
}

Json json_of(const Choice& choice) {
  Json algorithm = nullptr;
  if (choice.algorithm != nullptr) algorithm = choice.algorithm->name;
  return {{"choice", choice.to_string()},
          {"algorithm", algorithm},
          {"parameters", json_of(choice.parameters)},
          {"reason", choice.reason}};
}

Json collectives(const JsonNode&) {
  Json list = Json::array();
  for (int i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    list.push_back({{"name", name(c)},
                    {"has_root", has_root(c)},
                    {"is_reduction", is_reduction(c)},
                    {"is_irregular", is_irregular(c)}});
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
  if (request.boolean_or("model", false)) return json_of(choose_as_run(request, question, rules));
  const Choice& choice = own ? rules.choose_own(question) : rules.choose(question);
  return json_of(choice);
}

/// Returns the sizes that a run takes for one, as its choices and its evidence do.
Json size_class(const JsonNode& request) {
  const JsonNode bytes = request.at("bytes");
  const SizeClass sizes = SizeClass::of(bytes.integer(0, max_bytes));
  return {{"least_bytes", sizes.least}, {"most_bytes", sizes.most}};
}

Json parse(const JsonNode& request) {
  Choice choice = parse_choice(read_collective(request), request.at("choice").text());
  choice.reason = "as asked for";
  return json_of(choice);
}

/// Returns which of a collective's algorithms support a call, as far as all ranks know the call alike.
Json supported(const JsonNode& request) {
  const Question q = read_question(request);
  Json list = Json::array();
  for (const Algorithm* a : algorithms_for(q.collective)) {
    Problem p{q.collective, 0, q.ranks, 0, std::max(q.bytes, std::int64_t{0}), q.element_bytes, q.commutative};
    p.parameters = resolve_parameters(*a, {});
    p.node_sizes = blocked_nodes(q.ranks, q.max_ranks_per_node);
    p.switch_sizes = read_switch_sizes(request, q.ranks);
    if (supports(*a, p)) list.push_back(a->name);
  }
  return {{"algorithms", list}};
}

Json build(const JsonNode& request) {
  const AlgorithmCase c = read_case(request);
  if (const auto rank = request.find("rank")) {
    const Schedule schedule = schedule_of(c, static_cast<int>(rank->integer(0, c.call.size - 1)));
    return {{"schedule", json_of(schedule)}, {"text", schedule.to_string()}, {"hash", schedule.hash()}};
  }
  return {{"plan", json_of(plan_of(c, schedules_of(c)))}};
}

Json check_algorithm(const JsonNode& request) {
  const AlgorithmCase c = read_case(request);
  const auto wrong = check(*c.algorithm, c.call);
  Json found = nullptr;
  if (wrong) found = *wrong;
  return {{"wrong", found}};
}

Json matrix(const JsonNode& request) {
  const AlgorithmCase c = read_case(request);
  const Traffic traffic = traffic_of(schedules_of(c));
  return {{"size", traffic.size}, {"messages", traffic.messages}, {"bytes", traffic.bytes}};
}

/// Sums over a replay's messages, because there may be too many to hand over.
struct Sums {
  struct PerRank {
    std::int64_t sent_messages = 0, sent_bytes = 0, received_messages = 0, received_bytes = 0;
  };
  struct PerNode {
    std::int64_t out_bytes = 0, in_bytes = 0;
  };
  struct PerRound {
    std::int64_t messages = 0, tokens = 0, bytes = 0;
  };
  std::vector<PerRank> ranks;
  std::vector<PerNode> nodes;
  std::vector<PerRound> rounds;

  Sums(const Replay& replay, int size, int ranks_per_node, bool count_rounds)
      : ranks(static_cast<std::size_t>(size)),
        nodes(static_cast<std::size_t>((size + ranks_per_node - 1) / ranks_per_node)) {
    if (count_rounds) rounds.resize(static_cast<std::size_t>(replay.end));
    for (const Transfer& t : replay.transfers) {
      PerRank& from = ranks[static_cast<std::size_t>(t.from)];
      PerRank& to = ranks[static_cast<std::size_t>(t.to)];
      from.sent_messages += 1;
      from.sent_bytes += t.bytes;
      to.received_messages += 1;
      to.received_bytes += t.bytes;
      if (t.from / ranks_per_node != t.to / ranks_per_node) {
        nodes[static_cast<std::size_t>(t.from / ranks_per_node)].out_bytes += t.bytes;
        nodes[static_cast<std::size_t>(t.to / ranks_per_node)].in_bytes += t.bytes;
      }
      if (!count_rounds) continue;
      PerRound& round = rounds[static_cast<std::size_t>(t.begin)];
      (t.bytes > 0 ? round.messages : round.tokens) += 1;
      round.bytes += t.bytes;
    }
  }

  void put(Json& out) const {
    for (const char* key : {"ranks", "nodes", "rounds"}) out[key] = Json::array();
    for (const PerRank& r : ranks)
      out["ranks"].push_back({r.sent_messages, r.sent_bytes, r.received_messages, r.received_bytes});
    for (const PerNode& n : nodes) out["nodes"].push_back({n.out_bytes, n.in_bytes});
    for (const PerRound& r : rounds) out["rounds"].push_back({r.messages, r.tokens, r.bytes});
  }
};

Clock read_clock(const JsonNode& request) {
  const JsonNode clock = request.at("clock");
  if (clock.text() == "rounds") return Clock::rounds;
  if (clock.text() == "bytes") return Clock::bytes;
  clock.fail("expected \"rounds\" or \"bytes\"");
}

Json replay_schedules(const JsonNode& request) {
  const AlgorithmCase c = read_case(request);
  const Clock clock = read_clock(request);
  const int ranks_per_node = static_cast<int>(request.integer_or("ranks_per_node", 1, 1, c.call.size));
  const auto schedules = schedules_of(c);
  const Replay result = replay(schedules, clock, ranks_per_node);
  std::int64_t scratch_bytes = 0;
  for (const Schedule& s : schedules) scratch_bytes = std::max(scratch_bytes, s.scratch_bytes());
  Json out{{"end", result.end}, {"scratch_bytes", scratch_bytes}, {"transfers", Json::array()}};
  Sums(result, c.call.size, ranks_per_node, clock == Clock::rounds).put(out);
  if (!request.boolean_or("transfers", true)) return out;
  for (const Transfer& t : result.transfers) out["transfers"].push_back({t.from, t.to, t.bytes, t.begin, t.end});
  return out;
}

Json version(const JsonNode&) { return {{"version", ANTIPHON_VERSION}}; }

Json processor_quota(const JsonNode&) {
  const auto quota = network::ProcessorQuota::of_this_process();
  return {{"cores", quota ? Json(quota->cores()) : Json()}};
}

struct Request {
  std::string_view name;
  Json (*handle)(const JsonNode&);
};

constexpr std::array requests{
    Request{"version", version},
    Request{"collectives", collectives},
    Request{"algorithms", list_algorithms},
    Request{"choose", choose},
    Request{"parse", parse},
    Request{"size_class", size_class},
    Request{"supported", supported},
    Request{"build", build},
    Request{"check", check_algorithm},
    Request{"matrix", matrix},
    Request{"replay", replay_schedules},
    Request{"schedulers", list_schedulers},
    Request{"schedule_pattern", schedule_pattern},
    Request{"describe_plan", describe_plan},
    Request{"compile_patterns", compile_patterns},
    Request{"profile", read_profile_request},
    Request{"hosts", hosts_request},
    Request{"predict", predict_request},
    Request{"predict_library", predict_library_request},
    Request{"evaluate_plan", evaluate_plan_request},
    Request{"variations", variations_request},
    Request{"choose_by_model", choose_by_model_request},
    Request{"closed_forms", closed_forms_request},
    Request{"mapping_methods", list_mapping_methods},
    Request{"map", map_request},
    Request{"describe_machine", describe_machine_request},
    Request{"score_mapping", score_mapping_request},
    Request{"check_settings", check_settings_request},
    Request{"settings", settings_request},
    Request{"store_directories", store_directories_request},
    Request{"store_key", store_key_request},
    Request{"store_profile", store_profile_request},
    Request{"read_learned", read_learned_request},
    Request{"processor_quota", processor_quota},
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
    const Json document = JsonNode::parse(text, max_request_bytes);
    response = handle(JsonNode(document));
    response["ok"] = true;
  } catch (const std::exception& error) {
    response = {{"ok", false}, {"error", error.what()}};
  }
  return response.dump();
}

}  // namespace antiphon
