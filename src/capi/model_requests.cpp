// SPDX-License-Identifier: Apache-2.0
#include "capi/model_requests.hpp"

#include <algorithm>
#include <thread>

#include "antiphon/closed_forms.hpp"
#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"
#include "antiphon/library_algorithms.hpp"
#include "antiphon/model_choice.hpp"
#include "antiphon/profile.hpp"
#include "antiphon/schedule_json.hpp"
#include "antiphon/select.hpp"
#include "capi/cases.hpp"
#include "network/rate.hpp"
#include "profile/hosts.hpp"

namespace antiphon {

namespace {

constexpr std::int64_t max_ranks = 1 << 17;
constexpr std::int64_t max_bytes = std::int64_t{1} << 40;
constexpr double assumed_bits_per_s = 1e9;

/// Returns the request's profile, or a guess from its link rate.
Profile read_profile(const JsonNode& request, int nodes, int ranks_per_node) {
  if (const auto text = request.find("profile")) return Profile::parse(text->text());
  const auto rate = request.find("link_bits_per_s");
  return Profile::guess(nodes, ranks_per_node, rate ? rate->number(1, 1e15) : assumed_bits_per_s);
}

/// Places the request's ranks on the profile's nodes: by `node_of_rank`, or `ranks_per_node` consecutive ranks on each.
Cluster read_cluster(const JsonNode& request) {
  const int ranks = static_cast<int>(request.at("ranks").integer(1, max_ranks));
  const int per_node = static_cast<int>(request.integer_or("ranks_per_node", 1, 1, ranks));
  const Profile profile = read_profile(request, (ranks + per_node - 1) / per_node, per_node);
  const auto places = request.find("node_of_rank");
  if (!places) return Cluster::blocked(profile, ranks, per_node);
  if (places->array_size() != static_cast<std::size_t>(ranks)) places->fail("expected a node for each rank");
  std::vector<int> node_of_rank;
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks); ++i) {
    const JsonNode node = places->element(i);
    node_of_rank.push_back(static_cast<int>(node.integer(0, max_ranks)));
  }
  return {profile, std::move(node_of_rank)};
}

PredictedCall read_call(const JsonNode& request, const Cluster& cluster) {
  PredictedCall call;
  call.collective = read_collective(request);
  call.root = static_cast<int>(request.integer_or("root", 0, 0, cluster.ranks() - 1));
  call.element_bytes = request.integer_or("element_bytes", 1, 1, 65536);
  call.commutative = request.boolean_or("commutative", true);
  return call;
}

Json json_of(const RankedChoice& c) {
  Json parameters = Json::object();
  for (const ParameterValue& p : c.parameters) parameters[p.name] = p.value;
  Json closed = nullptr;
  if (c.closed_form_s) closed = *c.closed_form_s;
  return {{"algorithm", c.algorithm->name}, {"choice", Choice{c.algorithm, c.parameters, ""}.to_string()},
          {"parameters", parameters},       {"seconds", c.seconds},
          {"method", name(c.method)},       {"closed_form_s", closed}};
}

Choice read_barrier_choice(const JsonNode& text) {
  Choice choice = parse_choice(Collective::barrier, text.text());
  if (choice.algorithm == nullptr)
    throw InvalidArgument("a call cannot be timed after the library's barrier: name an algorithm");
  return choice;
}

Among read_among(const JsonNode& text) {
  if (text.text() == "all") return Among::all;
  if (text.text() == "node") return Among::node;
  if (text.text() == "leaders") return Among::leaders;
  throw InvalidArgument("a barrier's part is among all, node or leaders");
}

/// Returns the barrier, or its parts, that a benchmark has before each call; nothing if calls are not timed this way.
std::optional<Barrier> read_barrier(const JsonNode& request) {
  const auto field = request.find("barrier");
  if (!field) return std::nullopt;
  if (!field->is_array()) return Barrier{{read_barrier_choice(*field)}};
  Barrier barrier;
  const std::size_t count = field->array_size(16);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode part = field->element(i);
    barrier.push_back({read_barrier_choice(part.at("choice")), read_among(part.at("among"))});
  }
  if (barrier.empty()) throw InvalidArgument("a barrier without parts");
  return barrier;
}

Json json_of(const std::vector<LeftOut>& left_out) {
  Json list = Json::array();
  for (const LeftOut& one : left_out)
    list.push_back({{"choice", Choice{one.algorithm, one.parameters, ""}.to_string()}, {"why", one.why}});
  return list;
}

/// Predicts a choice with its parameters as they are; nothing where the model cannot.
std::optional<Prediction> predict_one(const PredictedCall& call, const Choice& choice, const Cluster& cluster,
                                      const Barrier* barrier, std::vector<LeftOut>& left_out) {
  try {
    return predict(call, *choice.algorithm, choice.parameters, cluster, barrier);
  } catch (const Error& error) {
    left_out.push_back({choice.algorithm, choice.parameters, error.what()});
    return std::nullopt;
  }
}

/// Predicts the choices that a request names.
std::vector<RankedChoice> predict_named(const JsonNode& choices, const PredictedCall& call, const Cluster& cluster,
                                        const Barrier* barrier, std::vector<LeftOut>& left_out) {
  std::vector<RankedChoice> candidates;
  const std::size_t count = choices.array_size(4096);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode node = choices.element(i);
    const Choice choice = parse_choice(call.collective, node.text());
    if (choice.algorithm == nullptr) continue;
    const auto prediction = predict_one(call, choice, cluster, barrier, left_out);
    if (!prediction) continue;
    const LinkClass& link = cluster.longest_link();
    candidates.push_back({choice.algorithm, choice.parameters, prediction->seconds, prediction->method,
                          closed_form_of(*choice.algorithm, choice.parameters, cluster.ranks(), call.bytes, link)});
  }
  return candidates;
}

std::vector<std::int64_t> read_sizes(const JsonNode& request) {
  const JsonNode list = request.at("bytes");
  if (!list.is_array()) return {list.integer(0, max_bytes)};
  std::vector<std::int64_t> sizes;
  const std::size_t count = list.array_size(4096);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode size = list.element(i);
    sizes.push_back(size.integer(0, max_bytes));
  }
  return sizes;
}

}  // namespace

Json hosts_request(const JsonNode&) { return {{"hosts", Json::parse(hosts_json)}}; }

Json read_profile_request(const JsonNode& request) {
  const std::string& text = request.at("text").text();
  const Profile profile = Profile::parse(text);
  (void)Rules::of_profile(text);  // This checks the profile's decisions too.
  Json links = Json::array();
  for (const LinkClass& link : profile.link_classes) {
    links.push_back({{"name", link.name}, {"scope", name(link.scope)}, {"latency_s", link.latency_s}});
  }
  return {{"machine", profile.machine.name},
          {"nodes", profile.machine.nodes},
          {"ranks_per_node", profile.machine.ranks_per_node},
          {"mpi", profile.machine.mpi},
          {"fingerprint", profile.machine.fingerprint},
          {"link_classes", links},
          {"switches", profile.topology.switches.size()},
          {"port_bytes_per_s", profile.port_bytes_per_s()},
          {"link_bits_per_s", network::rate_of_payload(profile.port_bytes_per_s())},
          {"credit_bytes", profile.contention.credit_bytes}};
}

namespace {

/// Returns how many algorithms to evaluate at once: of very many ranks each takes 150 MiB and more.
int threads_for(int ranks) {
  const int cores = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  return ranks > very_many_ranks ? std::min(cores, 2) : cores;
}

}  // namespace

Json predict_request(const JsonNode& request) {
  const Cluster cluster = read_cluster(request).sharing_memory();
  PredictedCall call = read_call(request, cluster);
  const auto barrier = read_barrier(request);
  const SearchOptions options{request.boolean_or("search", true),
                              static_cast<int>(request.integer_or("max_evaluations", 64, 1, 4096)),
                              threads_for(cluster.ranks()), request.integer_or("max_pieces", INT64_MAX, 1, INT64_MAX)};
  const auto choices = request.find("choices");
  Json sizes = Json::array();
  for (const std::int64_t bytes : read_sizes(request)) {
    call.bytes = bytes;
    Json candidates = Json::array();
    std::vector<LeftOut> left_out;
    for (const RankedChoice& c : choices
                                     ? predict_named(*choices, call, cluster, barrier ? &*barrier : nullptr, left_out)
                                     : rank_candidates(call, cluster, options, &left_out)) {
      candidates.push_back(json_of(c));
    }
    sizes.push_back({{"bytes", bytes}, {"candidates", candidates}, {"left_out", json_of(left_out)}});
  }
  return {
      {"first_guess", cluster.profile().first_guess}, {"machine", cluster.profile().machine.name}, {"sizes", sizes}};
}

Json predict_library_request(const JsonNode& request) {
  const Cluster cluster = read_cluster(request);
  PredictedCall call = read_call(request, cluster);
  const JsonNode library = request.at("library");
  const LibraryAlgorithms* known = LibraryAlgorithms::of(library.text());
  if (known == nullptr) library.fail("nothing is known of the algorithms of \"" + library.text() + "\"");
  Json sizes = Json::array();
  for (const std::int64_t bytes : read_sizes(request)) {
    call.bytes = bytes;
    const auto parts = known->parts(call, cluster);
    Json algorithms = Json::array();
    for (const LibraryPart& part : parts.value_or(std::vector<LibraryPart>{})) {
      algorithms.push_back(std::string(name(part.call.collective)) + ":" + part.choice.to_string());
    }
    const auto seconds = known->predict_seconds(call, cluster);
    sizes.push_back({{"bytes", bytes}, {"seconds", seconds ? Json(*seconds) : Json()}, {"algorithms", algorithms}});
  }
  return {{"sizes", sizes}};
}

Json evaluate_plan_request(const JsonNode& request) {
  const Cluster cluster = read_cluster(request);
  const JsonNode text = request.at("plan");
  const Plan plan = plan_from_json(text.text());
  const Evaluation evaluation = evaluate(plan.schedules, cluster);
  return {{"machine", cluster.profile().machine.name},
          {"seconds", evaluation.seconds},
          {"rank_end_s", evaluation.rank_end_s},
          {"pieces", evaluation.pieces}};
}

Json variations_request(const JsonNode& request) {
  const Cluster cluster = read_cluster(request);
  PredictedCall call = read_call(request, cluster);
  call.bytes = request.at("bytes").integer(0, max_bytes);
  const Choice choice = parse_choice(call.collective, request.at("choice").text());
  Json choices = Json::array();
  if (choice.algorithm != nullptr) {
    for (const Parameters& parameters : variations(call, *choice.algorithm, choice.parameters, cluster))
      choices.push_back(Choice{choice.algorithm, parameters, ""}.to_string());
  }
  return {{"choices", choices}};
}

Json choose_by_model_request(const JsonNode& request) {
  const Question question = read_question(request);
  const Profile profile = read_profile(request, question.nodes, question.max_ranks_per_node);
  const auto choice = choose_by_model(question, profile);
  if (!choice) return {{"choice", nullptr}, {"reason", "the size is unknown, or there is one rank"}};
  return {{"choice", choice->to_string()}, {"reason", choice->reason}};
}

Choice choose_as_run(const JsonNode& request, const Question& question, const Rules& rules) {
  std::optional<Profile> profile;
  try {
    if (const auto text = request.find("profile")) profile = Profile::parse(text->text());
  } catch (const FormatError&) {
    profile.reset();  // It has decisions only, which of_profile() has read.
  }
  if (!profile && question.link_bits_per_s <= 0) return rules.choose(question);
  if (!profile) {
    profile =
        Profile::guess(question.nodes, question.max_ranks_per_node, static_cast<double>(question.link_bits_per_s));
    HostFacts facts;
    facts.cores_per_node = static_cast<int>(request.integer_or("cores_per_node", 0, 0, max_ranks));
    facts.nodes_sharing = static_cast<int>(request.integer_or("nodes_sharing", 1, 1, max_ranks));
    facts.link_burst_bytes = request.integer_or("link_burst_bytes", 0, 0, max_bytes);
    if (const auto turn = request.find("turn_s")) facts.turn_s = turn->number(0, 1);
    profile->refine_guess(facts);
  }
  return choose_with_model(rules, question, *profile);
}

Json closed_forms_request(const JsonNode& request) {
  const Cluster cluster = read_cluster(request);
  const Collective collective = read_collective(request);
  ClosedFormCall call{cluster.ranks()};
  call.segment_bytes = request.integer_or("segment_bytes", 0, 0, max_bytes);
  call.concurrency = static_cast<int>(request.integer_or("concurrency", 2, 1, 64));
  const auto gamma = cluster.profile().contention.gamma_at(cluster.ranks());
  call.gamma = gamma.value_or(0);
  Json forms = Json::array();
  for (const ClosedForm& form : closed_forms()) {
    if (form.collective != collective) continue;
    Json seconds = Json::array();
    for (const std::int64_t bytes : read_sizes(request)) {
      call.bytes = bytes;
      seconds.push_back(form.seconds(call, cluster.longest_link()));
    }
    forms.push_back({{"name", form.name},
                     {"formula", form.formula},
                     {"source", form.source},
                     {"seconds", seconds},
                     {"gamma", gamma ? Json(*gamma) : Json()}});
  }
  return {{"forms", forms}};
}

}  // namespace antiphon
