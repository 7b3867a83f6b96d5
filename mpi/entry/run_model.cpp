// SPDX-License-Identifier: Apache-2.0
#include "entry/run_model.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "antiphon/adapt.hpp"
#include "antiphon/error.hpp"
#include "job/library_traits.hpp"
#include "job/world.hpp"

namespace antiphon::mpi::run_model {

namespace {

/// A call whose bytes take a node's link this long pays for the model's milliseconds within few calls.
constexpr double long_call_s = 1e-3;
/// So many answers are kept: enough for all sizes on the communicators of a program.
constexpr std::size_t most_answers = 4096;

/// Returns the nodes of a communicator's ranks, numbered from 0 in the world's order.
std::vector<int> dense_nodes(const std::vector<int>& node_of_rank) {
  std::vector<int> sorted = node_of_rank;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<int> dense;
  for (const int node : node_of_rank)
    dense.push_back(static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), node) - sorted.begin()));
  return dense;
}

/// Returns what the profile has measured, or what is usual at this link rate.
Profile profile_of_run() {
  const Settings& s = world.settings;
  try {
    if (!s.machine.empty()) {
      Profile profile = Profile::parse(s.machine);
      for (LinkClass& link : profile.link_classes) {
        if (s.shared_memory == "off") link.shared_memory.reset();
      }
      return profile;
    }
  } catch (const Error&) {
    // The profile has decisions only.
  }
  const auto nodes = dense_nodes(world.node_of_rank);
  const int count = nodes.empty() ? 1 : *std::max_element(nodes.begin(), nodes.end()) + 1;
  const int ranks_per_node = (static_cast<int>(nodes.size()) + count - 1) / count;
  Profile profile = Profile::guess(count, ranks_per_node, static_cast<double>(s.link_bits_per_s));
  const network::Network& n = world.network;
  profile.refine_guess({n.cores_per_node, n.nodes_sharing, s.link_burst_bytes, n.connection_bits_per_s});
  return profile;
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

/// Returns about how many of a call's blocks cross the busiest node's link.
double blocks_on_link(const Question& q) {
  switch (q.collective) {
    case Collective::scatter:
    case Collective::gather:
    case Collective::allgather:
    case Collective::reduce_scatter_block: return q.ranks;
    case Collective::alltoall: return static_cast<double>(q.ranks) * q.max_ranks_per_node;
    default: return 1;
  }
}

std::mutex mutex;
std::map<std::string, std::optional<ModelAnswer>>& answers() {
  static std::map<std::string, std::optional<ModelAnswer>> known;
  return known;
}

}  // namespace

bool may_ask(const Question& q) {
  const Settings& s = world.settings;
  return s.model && q.bytes >= 0 && q.nodes > 1 && q.ranks > 2 && q.transport == "tcp" &&
         (q.link_bits_per_s > 0 || !s.machine.empty()) && !world.rules->decides(q);
}

bool asks_at_once(const Question& q) {
  const double bits = 8.0 * blocks_on_link(q) * static_cast<double>(q.bytes);
  return !q.exact || bits >= long_call_s * static_cast<double>(q.link_bits_per_s);
}

std::optional<ModelAnswer> compute(const Question& question, const CommShape& shape, const Choice& of_rules,
                                   const Choice& own_of_rules) {
  Question q = question;
  // All sizes of a class are one size to the model, whichever of them comes first.
  const SizeClass sizes = SizeClass::of(q.bytes);
  if (q.bytes > 0) q.bytes = std::max<std::int64_t>(sizes.least / q.element_bytes, 1) * q.element_bytes;
  const std::vector<int> nodes = dense_nodes(shape.node_of_rank);
  const std::string name = name_of(q, nodes, of_rules, own_of_rules);
  const std::lock_guard lock(mutex);
  auto& known = answers();
  if (const auto found = known.find(name); found != known.end()) return found->second;
  if (known.size() >= most_answers) known.clear();
  std::optional<ModelAnswer> answer;
  try {
    answer = ask_model(q, Cluster(profile_of_run(), nodes), of_rules, own_of_rules,
                       LibraryAlgorithms::of(world.mpi + " " + library_version()));
  } catch (const Error&) {
    // A machine that the model cannot have: the rules decide.
  }
  return known[name] = answer;
}

namespace {

/// An answer as text, for the other ranks; numbers with all their digits.
constexpr std::size_t most_text_bytes = 512;

std::string text_of(const std::optional<ModelAnswer>& answer) {
  if (!answer) return "";
  std::array<char, most_text_bytes> text{};
  const double library_s = answer->library_s.value_or(-1);
  const int length = std::snprintf(text.data(), text.size(), "%a %a %a %d %s", answer->own_s, library_s, answer->enough,
                                   answer->guessed ? 1 : 0, answer->own.to_string().c_str());
  return length > 0 && static_cast<std::size_t>(length) < text.size() ? std::string(text.data()) : "";
}

std::optional<ModelAnswer> answer_of(const std::string& text, Collective collective) {
  if (text.empty()) return std::nullopt;
  ModelAnswer answer;
  double library_s = 0;
  int guessed = 0, read = 0;
  if (std::sscanf(text.c_str(), "%la %la %la %d %n", &answer.own_s, &library_s, &answer.enough, &guessed, &read) < 4)
    return std::nullopt;
  answer.own = parse_choice(collective, std::string_view(text).substr(static_cast<std::size_t>(read)));
  if (library_s >= 0) answer.library_s = library_s;
  answer.guessed = guessed != 0;
  return answer;
}

}  // namespace

std::optional<ModelAnswer> ask(const Question& question, const CommShape& shape, const Choice& of_rules,
                               const Choice& own_of_rules, const FromFirst& from_first) {
  std::string text(most_text_bytes, '\0');
  if (shape.rank == 0) text_of(compute(question, shape, of_rules, own_of_rules)).copy(text.data(), text.size());
  from_first(text);
  return answer_of(text.c_str(), question.collective);
}

}  // namespace antiphon::mpi::run_model
