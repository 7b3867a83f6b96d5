// SPDX-License-Identifier: Apache-2.0
#include "job/world.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "antiphon/credit.hpp"
#include "antiphon/error.hpp"
#include "antiphon/profile.hpp"
#include "job/devices.hpp"
#include "job/environment.hpp"
#include "job/find_network.hpp"
#include "job/find_switches.hpp"
#include "job/introduction.hpp"
#include "job/library_parameters.hpp"
#include "job/library_traits.hpp"
#include "job/link_rate.hpp"
#include "job/profile_store.hpp"
#include "job/shared_text.hpp"
#include "job/warn.hpp"

namespace antiphon::mpi {

World world;

namespace {

/// Reads the settings on rank 0. The others wait for them, whatever happens here.
Settings read_settings_safely() {
  try {
    return read_settings();
  } catch (const std::exception& error) {
    warn_left_alone(std::string("the settings cannot be read: ") + error.what());
    Settings none;
    none.enabled = false;
    return none;
  }
}

/// Returns rank 0's settings on every rank.
Settings agree_on_settings(int rank) {
  return deserialize(from_rank_0(rank == 0 ? serialize(read_settings_safely()) : ""));
}

/// Tells whether this rank was given other settings than rank 0. A rank without any takes rank 0's: launchers do not
/// carry variables to other nodes unless they are told to.
bool has_own_settings() {
  const std::string own = own_settings();
  return !own.empty() && own != world.settings.environment;
}

/// Looks for a GPU in this process or on its node, where one is wanted.
bool look_for_device() {
  const std::string& wanted = world.settings.gpu;
  const bool here = wanted == "on" || (wanted == "auto" && may_have_devices());
  watch_for_drivers(here);
  return here;
}

bool has_threads() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

/// Returns, for each rank, the lowest rank on its node by ANTIPHON_NODES; empty if that is not set or does not fit.
std::vector<int> assumed_nodes(const std::string& text, int rank, int size) {
  if (text.empty()) return {};
  world.assumed_locations = parse_assumed_nodes(text);
  if (static_cast<int>(world.assumed_locations.size()) != size) {
    if (rank == 0)
      warn("ANTIPHON_NODES=" + text + " does not name a node for each of " + std::to_string(size) + " ranks; ignored");
    world.assumed_locations.clear();
    return {};
  }
  std::map<std::string, int> lowest;
  std::vector<int> nodes;
  for (const AssumedLocation& location : world.assumed_locations)
    nodes.push_back(lowest.emplace(location.node, static_cast<int>(nodes.size())).first->second);
  return nodes;
}

/// Takes in what all ranks have told. Returns false if their settings differ; the lowest that differs says so.
bool get_to_know_all(Introduction& all, int rank, int size) {
  if (all.first_different == rank) {
    warn_left_alone("rank " + std::to_string(rank) + " has " +
                    first_difference(own_settings(), world.settings.environment) +
                    ", unlike rank 0 (hint: give all ranks the same ANTIPHON variables)");
  }
  world.some_may_have_devices = all.some_may_have_devices;
  world.some_have_threads = all.some_have_threads;
  world.node_of_rank = assumed_nodes(world.settings.nodes, rank, size);
  if (world.node_of_rank.empty()) world.node_of_rank = std::move(all.node_of_rank);
  return all.first_different == size;
}

/// Reads what the settings say in languages of their own. Returns what is wrong with them: the same on every rank, or
/// an empty text.
std::string read_languages() {
  const Settings& s = world.settings;
  const char* which = "ANTIPHON_FORCE";
  try {
    world.overrides = parse_force(s.force, usual_credit_parameters());
    which = "the profile";
    if (!s.profile.empty()) world.profile_rules = Rules::of_profile(s.profile);
    which = "the plan";
    if (!s.plan.empty()) world.plan = run_plan_from_json(s.plan);
    if (!world.plan.decisions.empty()) world.profile_rules = Rules::of_run(world.plan.decisions, s.profile);
    world.has_planned_choices = !world.plan.decisions.empty();
  } catch (const Error& e) {
    return std::string(which) + " cannot be used: " + e.what();
  }
  return "";
}

/// Finds what messages travel by and what is known of these nodes. Assumed nodes have neither a network nor cores.
void look_at_network(int cores, bool speaks) {
  Settings& s = world.settings;
  const bool assumed = !world.assumed_locations.empty();
  const std::vector<int> nodes = assumed ? std::vector<int>{} : world.node_of_rank;
  const bool one_node = std::all_of(nodes.begin(), nodes.end(), [](int node) { return node == 0; });
  const auto ranks = static_cast<int>(world.node_of_rank.size());
  world.network = one_node ? network_of_one_node(assumed ? 0 : cores, ranks) : recall(s, look_at_nodes(nodes));
  settle_link_rate(world.network, s, nodes);
  // Who names a rate says that the table of rules is right for that link.
  world.transport = s.link_bits_per_s != 0 ? "tcp" : world.network.transport;
  s.link_bits_per_s = world.network.bits_per_s;
  if (s.compress_link_bits_per_s == 0) s.compress_link_bits_per_s = s.link_bits_per_s;
  if (speaks && s.verbose >= 1) warn("network: " + world.network.line());
}

/// Returns the ranks that share cores where it is most, as far as the profile knows or, without one, the nodes' systems
/// say.
Crowd largest_crowd() {
  const Settings& s = world.settings;
  const int fullest = ranks_of_fullest_node();
  if (s.cores_per_node == 0) return {world.network.ranks_on_cores, world.network.cores_per_node, fullest};
  const std::set<int> nodes(world.node_of_rank.begin(), world.node_of_rank.end());
  const int all = static_cast<int>(nodes.size());
  return {fullest * std::clamp(s.nodes_sharing, 1, all), s.cores_per_node, fullest};
}

/// Settles who gives the core away when nothing moves, where ranks share cores.
void settle_waiting() {
  const Crowd crowd = largest_crowd();
  world.ranks_on_core = std::max(1.0, crowd.ranks_on_core());
  world.yields = Yields::nobody;
  if (!world.settings.yield) return;
  set_ways_to_wait(crowd);
  world.yields = library_yields() ? Yields::library : Yields::here;
}

/// Says on rank 0 if the plan is of a run of another size; what fits is used all the same.
void compare_with_plan(int size) {
  const RunPlan& plan = world.plan;
  const std::set<int> nodes(world.node_of_rank.begin(), world.node_of_rank.end());
  const int found = static_cast<int>(nodes.size());
  if (plan.ranks == 0 || (plan.ranks == size && plan.nodes == found)) return;
  warn("the plan is for " + std::to_string(plan.ranks) + " ranks on " + std::to_string(plan.nodes) +
       " nodes, and here are " + std::to_string(size) + " on " + std::to_string(found) +
       ": calls that it knows are done as it says, all others as without it");
}

bool nothing_to_do() {
  const Settings& s = world.settings;
  const bool one_node =
      std::all_of(world.node_of_rank.begin(), world.node_of_rank.end(), [](int node) { return node == 0; });
  const bool asked = !s.force.empty() || !s.profile.empty() || !s.plan.empty() || !s.summary.empty() ||
                     !s.metrics.empty() || !s.trace.empty() || s.verbose >= 2 ||
                     (s.compress != "off" && s.compress != "auto");
  return one_node && !asked;
}

}  // namespace

int ranks_of_fullest_node() {
  std::map<int, int> ranks_on_node;
  int most = 1;
  for (const int node : world.node_of_rank) most = std::max(most, ++ranks_on_node[node]);
  return most;
}

std::string usual_credit_parameters() {
  const Settings& s = world.settings;
  if (s.credit_bytes != 0) return credit_parameters(s.credit_bytes, s.link_bits_per_s);
  // The default is for slow links: on faster ones more is under way, and short pieces would cost the hosts too much.
  const std::int64_t guessed = Profile::guessed_credit_bytes(static_cast<double>(s.link_bits_per_s));
  return credit_parameters(guessed / 2 > CreditLimits{}.credit_bytes ? guessed : 0, s.link_bits_per_s);
}

void start_world() {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  world.settings = agree_on_settings(rank);
  if (!world.settings.enabled) return;
  Introduction all = introduce(has_own_settings(), look_for_device(), has_threads());
  world.settings.enabled = get_to_know_all(all, rank, size);
  if (!world.settings.enabled) return;
  world.mpi = library_name();
  world.orders_ids = library_orders_ids();
  world.connects_late = library_connects_late();
  world.restarts_requests = library_restarts_requests();
  look_at_network(all.cores, rank == 0);
  settle_waiting();
  if (const std::string wrong = read_languages(); !wrong.empty()) {
    if (rank == 0) warn_left_alone(wrong);
    world.settings.enabled = false;
    return;
  }
  const AssumedLocation* const assumed = own_assumed_location();
  world.switches = find_switches(world.settings, world.node_of_rank, assumed == nullptr ? "" : assumed->node);
  if (rank == 0) compare_with_plan(size);
  world.rules = world.profile_rules ? &*world.profile_rules : &Rules::defaults();
  PMPI_Comm_group(MPI_COMM_WORLD, &world.group);
  world.idle = nothing_to_do();
  world.speeds_up_one_node = world.settings.shared_memory != "off" && library_messages_are_known_within_nodes();
  for (int c = 0; c < collective_count; ++c) {
    const auto collective = static_cast<Collective>(c);
    world.acts_on_one_node[static_cast<std::size_t>(c)] =
        world.speeds_up_one_node && world.rules->act_on_one_node(collective, world.mpi, world.ranks_on_core > 1);
  }
}

const AssumedLocation* own_assumed_location() {
  if (world.assumed_locations.empty()) return nullptr;
  int world_rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  return &world.assumed_locations[static_cast<std::size_t>(world_rank)];
}

void stop_world() {
  if (world.group != MPI_GROUP_NULL) PMPI_Group_free(&world.group);
  world.profile_rules.reset();
}

}  // namespace antiphon::mpi
