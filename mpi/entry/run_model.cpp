// SPDX-License-Identifier: Apache-2.0
#include "entry/run_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "antiphon/adapt.hpp"
#include "antiphon/error.hpp"
#include "antiphon/fnv.hpp"
#include "antiphon/index.hpp"
#include "job/library_traits.hpp"
#include "job/world.hpp"

namespace antiphon::mpi::run_model {

namespace {

/// A call whose bytes take a node's link this long pays for the model's milliseconds within few calls.
constexpr double long_call_s = 1e-3;
/// So many answers are kept: enough for all sizes on the communicators of a program.
constexpr std::size_t most_answers = 4096;

std::vector<int> distinct(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// Returns these nodes numbered from 0 in their order.
std::vector<int> dense_nodes(const std::vector<int>& node_of_rank) {
  const std::vector<int> sorted = distinct(node_of_rank);
  std::vector<int> dense;
  for (const int node : node_of_rank)
    dense.push_back(static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), node) - sorted.begin()));
  return dense;
}

/// Messages within nodes move as the settings say.
Profile with_allowed_memory(Profile profile) {
  const std::string& allowed = world.settings.shared_memory;
  for (LinkClass& link : profile.link_classes) {
    if (allowed == "off") link.shared_memory.reset();
    else if (allowed == "copy" && link.shared_memory) link.shared_memory->fetched_from_bytes = 0;
  }
  return profile;
}

/// Returns what the profile has measured, or what is usual at this link rate.
Profile profile_of_run() {
  const Settings& s = world.settings;
  try {
    if (!s.machine.empty()) return with_allowed_memory(Profile::parse(s.machine));
  } catch (const Error&) {
    // The profile has decisions only.
  }
  const auto nodes = dense_nodes(world.node_of_rank);
  const int count = nodes.empty() ? 1 : *std::max_element(nodes.begin(), nodes.end()) + 1;
  const int ranks_per_node = (static_cast<int>(nodes.size()) + count - 1) / count;
  Profile profile = Profile::guess(count, ranks_per_node, static_cast<double>(s.link_bits_per_s));
  const network::Network& n = world.network;
  // Nodes may have different cores: none of them has too few where the largest crowd has enough.
  const int cores = n.ranks_on_cores > n.cores_per_node ? n.cores_per_node : 0;
  profile.refine_guess({cores, n.nodes_sharing, s.link_burst_bytes, n.turn_s, n.connection_bits_per_s});
  return with_allowed_memory(std::move(profile));
}

/// Takes all nodes to be on one switch: the run's nodes are not those of the profile.
void forget_switches(Topology& topology) {
  topology.switches.resize(1);
  for (NodeEntry& node : topology.nodes) node.switch_index = 0;
}

/// Replaces the profile's nodes by those of the communicator, on the switches that the run has found for them. Where
/// rates are unknown, uplinks are taken to carry all that their nodes send.
void place_on_switches(Profile& profile, const CommShape& shape) {
  if (!world.switches.known()) return forget_switches(profile.topology);
  const NodeEntry port = profile.topology.nodes.front();
  Topology here{world.switches.topology.switches, {}};
  for (const int node : distinct(shape.nodes_along_tree)) {
    NodeEntry entry = world.switches.topology.nodes[at(node)];
    if (entry.port_bytes_per_s == 0) {
      entry.port_bytes_per_s = port.port_bytes_per_s;
      entry.burst_bytes = port.burst_bytes;
      for (int s = entry.switch_index; s >= 0; s = here.switches[at(s)].parent)
        here.switches[at(s)].uplink_bytes_per_s += port.port_bytes_per_s;
    }
    here.nodes.push_back(entry);
  }
  profile.topology = std::move(here);
}

std::string name_of(const Question& q, const std::vector<int>& nodes, const Choice& of_rules, const Choice& own) {
  std::string name(antiphon::name(q.collective));
  for (const std::int64_t part :
       {q.bytes, q.element_bytes, std::int64_t{q.commutative}, std::int64_t{q.exact}, std::int64_t{q.nonblocking}})
    name += ',' + std::to_string(part);
  name += of_rules.algorithm == nullptr ? " library " : " ours ";
  name += own.to_string() + " on";
  for (const int node : nodes) name += ' ' + std::to_string(node);
  return name;
}

/// Returns the size that stands for all sizes of its class, whichever of them comes first.
std::int64_t usual_bytes(const Question& q) {
  if (q.bytes <= 0) return q.bytes;
  return std::max<std::int64_t>(SizeClass::of(q.bytes).least / q.element_bytes, 1) * q.element_bytes;
}

std::mutex mutex;
std::map<std::string, std::optional<ModelAnswer>>& answers() {
  static std::map<std::string, std::optional<ModelAnswer>> known;
  return known;
}

/// Returns what first ranks have told, as text, by a hash of the question and of those whom they told. Nothing is ever
/// forgotten: all members of a group must know the same.
std::unordered_map<std::uint64_t, std::string>& told() {
  static std::unordered_map<std::uint64_t, std::string> known;
  return known;
}

}  // namespace

bool may_ask(const Question& q) {
  const Settings& s = world.settings;
  return s.model && q.bytes >= 0 && q.nodes > 1 && q.ranks > 2 && q.transport == "tcp" &&
         (q.link_bits_per_s > 0 || !s.machine.empty()) && !world.rules->decides(q);
}

bool asks_at_once(const Question& q) {
  const double bits = bits_on_link(q.collective, q.ranks, q.max_ranks_per_node, q.bytes);
  return !q.exact || bits >= long_call_s * static_cast<double>(q.link_bits_per_s);
}

std::optional<ModelAnswer> compute(const Question& question, const CommShape& shape, const Choice& of_rules,
                                   const Choice& own_of_rules) {
  Question q = question;
  q.bytes = usual_bytes(q);
  const std::vector<int> nodes = dense_nodes(shape.nodes_along_tree);
  const bool on_switches = world.switches.known();
  const std::string name = name_of(q, on_switches ? shape.nodes_along_tree : nodes, of_rules, own_of_rules);
  const std::lock_guard lock(mutex);
  auto& known = answers();
  if (const auto found = known.find(name); found != known.end()) return found->second;
  if (known.size() >= most_answers) known.clear();
  std::optional<ModelAnswer> answer;
  try {
    Profile profile = profile_of_run();
    place_on_switches(profile, shape);
    answer = ask_model(q, Cluster(std::move(profile), nodes), of_rules, own_of_rules,
                       LibraryAlgorithms::of(world.mpi + " " + library_version()));
  } catch (const Error&) {
    // A machine that the model cannot have: the rules decide.
  }
  return known[name] = answer;
}

namespace {

/// An answer as text, for the other ranks. Its numbers are their bits, which no rank's locale reads in another way.
constexpr std::size_t most_text_bytes = 512;

std::uint64_t bits(double number) { return std::bit_cast<std::uint64_t>(number); }

std::string text_of(const std::optional<ModelAnswer>& answer) {
  if (!answer) return "";
  std::array<char, most_text_bytes> text{};
  const int length = std::snprintf(text.data(), text.size(), "%" PRIx64 " %" PRIx64 " %" PRIx64 " %d %s",
                                   bits(answer->own_s), bits(answer->library_s.value_or(-1)), bits(answer->enough),
                                   answer->guessed ? 1 : 0, answer->own.to_string().c_str());
  return length > 0 && static_cast<std::size_t>(length) < text.size() ? std::string(text.data()) : "";
}

std::optional<ModelAnswer> answer_of(const std::string& text, Collective collective) {
  if (text.empty()) return std::nullopt;
  ModelAnswer answer;
  std::uint64_t own = 0, library = 0, enough = 0;
  int guessed = 0, read = 0;
  const auto* const form = "%" SCNx64 " %" SCNx64 " %" SCNx64 " %d %n";
  if (std::sscanf(text.c_str(), form, &own, &library, &enough, &guessed, &read) < 4) return std::nullopt;
  answer.own_s = std::bit_cast<double>(own);
  answer.enough = std::bit_cast<double>(enough);
  const auto library_s = std::bit_cast<double>(library);
  answer.own = parse_choice(collective, std::string_view(text).substr(static_cast<std::size_t>(read)));
  if (library_s >= 0) answer.library_s = library_s;
  answer.guessed = guessed != 0;
  return answer;
}

const std::string* find_told(std::uint64_t key) {
  const std::lock_guard lock(mutex);
  const auto found = told().find(key);
  return found == told().end() ? nullptr : &found->second;
}

}  // namespace

std::optional<ModelAnswer> ask(const Question& question, const CommShape& shape, const Choice& of_rules,
                               const Choice& own_of_rules, const FromFirst& from_first) {
  Question q = question;
  q.bytes = usual_bytes(q);
  Fnv key;
  key.add(name_of(q, shape.nodes_along_tree, of_rules, own_of_rules));
  key.add(static_cast<std::int64_t>(shape.members));
  // The same ranks have asked before on all of them or on none: several threads could ask in another order.
  const std::string* const known = world.some_have_threads ? nullptr : find_told(key.value());
  if (known != nullptr) return answer_of(*known, q.collective);
  std::string text(most_text_bytes, '\0');
  if (shape.rank == 0) text_of(compute(question, shape, of_rules, own_of_rules)).copy(text.data(), text.size());
  from_first(text);
  const std::lock_guard lock(mutex);
  const std::string& kept = told()[key.value()] = text.c_str();
  return answer_of(kept, q.collective);
}

}  // namespace antiphon::mpi::run_model
