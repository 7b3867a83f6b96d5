// SPDX-License-Identifier: Apache-2.0
#include "observe/job_facts.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "antiphon/fact.hpp"
#include "job/environment.hpp"
#include "job/library_parameters.hpp"
#include "job/profile_store.hpp"
#include "job/world.hpp"
#include "observe/text_table.hpp"

namespace antiphon::mpi {

namespace {

/// They are never destroyed: a program may end without MPI_Finalize.
auto& added = *new std::vector<Fact>;

Fact nodes_fact() {
  const std::vector<int>& node_of = world.node_of_rank;
  std::map<int, int> ranks_on;
  std::size_t runs = node_of.empty() ? 0 : 1;
  for (std::size_t r = 0; r < node_of.size(); ++r) {
    ++ranks_on[node_of[r]];
    runs += r > 0 && node_of[r] != node_of[r - 1] ? 1 : 0;
  }
  int least = static_cast<int>(node_of.size());
  int most = 0;
  for (const auto& [node, ranks] : ranks_on) {
    least = std::min(least, ranks);
    most = std::max(most, ranks);
  }
  const std::string per_node =
      least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
  std::string value =
      std::to_string(ranks_on.size()) + " with " + per_node + " rank" + (most == 1 ? "" : "s") + " each";
  if (most > 1 && ranks_on.size() > 1) value += runs == ranks_on.size() ? ", one node after the other" : ", in turn";
  return {"nodes", value, world.assumed_locations.empty() ? "the library" : "ANTIPHON_NODES"};
}

Fact credit_fact() {
  const Settings& s = world.settings;
  const bool told = !variable("ANTIPHON_CREDIT_BYTES").empty();
  if (s.credit_bytes == 0) return {"credit", "unknown", told ? "ANTIPHON_CREDIT_BYTES" : "no profile says it"};
  return {"credit", bytes_text(static_cast<double>(s.credit_bytes)),
          told ? "ANTIPHON_CREDIT_BYTES" : "the profile " + s.profile_path};
}

/// Returns who lets other ranks have the core of a rank that waits.
Fact waiting_fact() {
  switch (world.yields) {
    case Yields::library: return {"waiting", "the library gives the core away", "the library"};
    case Yields::here: return {"waiting", "Antiphon gives the core away", "the library does not"};
    default: return {"waiting", "the core is kept", "ANTIPHON_YIELD"};
  }
}

/// Returns all facts of this run.
std::vector<Fact> facts_of_job() {
  const network::Network& n = world.network;
  const Settings& s = world.settings;
  std::vector<Fact> facts{nodes_fact(), {"transport", n.name, n.transport_source}};
  if (!n.interface.empty()) facts.push_back({"interface", n.interface, n.interface_source});
  facts.push_back({"link rate", network::rate_text(n.bits_per_s), n.rate_source});
  if (n.connection_bits_per_s > 0)
    facts.push_back({"connection rate", network::rate_text(n.connection_bits_per_s), n.rate_source});
  if (world.switches.known())
    facts.push_back({"switches", std::to_string(world.switches.count()), world.switches.source});
  facts.push_back(credit_fact());
  facts.push_back(waiting_fact());
  facts.insert(facts.end(), library_parameters().begin(), library_parameters().end());
  if (!s.profile_path.empty()) facts.push_back({"profile", s.profile_path, s.profile_source});
  else if (!recalled.passed_over.empty()) facts.push_back({"profile", "none", recalled.passed_over});
  if (const std::int64_t rules = recalled.learned_rules; rules > 0)
    facts.push_back({"learned", std::to_string(rules) + (rules == 1 ? " rule" : " rules"), recalled.learned_path});
  facts.insert(facts.end(), added.begin(), added.end());
  return facts;
}

/// Tells whether the line about the network says this already.
bool is_of_network(const std::string& name) {
  return name == "transport" || name == "interface" || name == "link rate";
}

}  // namespace

void add_fact(Fact fact) { added.push_back(std::move(fact)); }

Json facts_row() {
  Json list = Json::array();
  for (const Fact& fact : facts_of_job())
    list.push_back({{"name", fact.name}, {"value", fact.value}, {"source", fact.source}, {"text", fact.text()}});
  return list;
}

void print_facts(std::FILE* out, const Json& row) {
  std::string text;
  for (const Json& fact : row) {
    const std::string& name = fact.at("name").as_string();
    if (!is_of_network(name)) text += (text.empty() ? "" : "; ") + name + " " + fact.at("text").as_string();
  }
  print_note(out, "antiphon: known: ", text);
}

}  // namespace antiphon::mpi
