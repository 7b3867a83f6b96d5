// SPDX-License-Identifier: Apache-2.0
#include "job/world.hpp"

#include <algorithm>
#include <map>

#include "antiphon/credit.hpp"
#include "antiphon/error.hpp"
#include "call/alias.hpp"

namespace antiphon::mpi {

World world;

namespace {

/// Rank 0's settings, on every rank.
Settings agree_on_settings(int rank) {
  std::string text;
  if (rank == 0) text = serialize(read_settings());
  auto length = static_cast<long long>(text.size());
  PMPI_Bcast(&length, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  PMPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
  return deserialize(text);
}

/// The lowest rank with which each rank shares memory, as the MPI library sees it.
std::vector<int> find_nodes(int rank, int size) {
  MPI_Comm node = MPI_COMM_NULL;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int lowest = rank;
  PMPI_Bcast(&lowest, 1, MPI_INT, 0, node);
  PMPI_Comm_free(&node);
  std::vector<int> nodes(static_cast<std::size_t>(size));
  PMPI_Allgather(&lowest, 1, MPI_INT, nodes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  return nodes;
}

/// The same by ANTIPHON_NODES; empty without that, or where it does not fit.
std::vector<int> given_nodes(const std::string& text, int rank, int size) {
  if (text.empty()) return {};
  world.given_places = parse_places(text);
  if (static_cast<int>(world.given_places.size()) != size) {
    if (rank == 0)
      warn("ANTIPHON_NODES=" + text + " does not name a node for each of " + std::to_string(size) + " ranks; ignored");
    world.given_places.clear();
    return {};
  }
  std::map<std::string, int> lowest;
  std::vector<int> nodes;
  for (int r = 0; r < size; ++r)
    nodes.push_back(lowest.emplace(world.given_places[static_cast<std::size_t>(r)].node, r).first->second);
  return nodes;
}

void set_override(Overrides& overrides, std::string_view item) {
  const auto colon = item.find(':');
  if (colon == std::string_view::npos) throw InvalidArgument("\"" + std::string(item) + "\" is not COLLECTIVE:CHOICE");
  const std::string_view which = item.substr(0, colon);
  const std::string_view what = item.substr(colon + 1);
  if (which != "*") {
    const auto collective = collective_from_name(which);
    if (!collective) throw InvalidArgument("there is no collective \"" + std::string(which) + "\"");
    overrides[static_cast<std::size_t>(*collective)] = parse_override(*collective, what);
    return;
  }
  if (what != "on" && what != "library" && what != "auto") throw InvalidArgument("\"*\" takes on, library or auto");
  for (int c = 0; c < collective_count; ++c)
    overrides[static_cast<std::size_t>(c)] = parse_override(static_cast<Collective>(c), what);
}

Overrides parse_force(const std::string& text, bool speaks) {
  Overrides overrides;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string_view item = std::string_view(text).substr(begin, end - begin);
    try {
      if (!item.empty()) set_override(overrides, item);
    } catch (const Error& e) {
      if (speaks) warn(std::string("ANTIPHON_FORCE: ") + e.what() + "; ignored");
    }
    begin = end + 1;
  }
  return overrides;
}

/// The profile's decisions before the default table; without a usable profile that alone.
std::optional<Rules> parse_profile(const std::string& text, bool speaks) {
  if (text.empty()) return std::nullopt;
  try {
    return Rules::of_profile(text);
  } catch (const Error& e) {
    if (speaks) warn(std::string("the profile cannot be used: ") + e.what() + "; running without it");
    return std::nullopt;
  }
}

/// The plan's patterns; none where it cannot be used.
CompiledPlan parse_plan(const std::string& text, bool speaks) {
  if (text.empty()) return {};
  try {
    return compiled_plan_from_json(text);
  } catch (const Error& e) {
    if (speaks) warn(std::string("the plan cannot be used: ") + e.what() + "; running without it");
    return {};
  }
}

}  // namespace

Override parse_override(Collective collective, std::string_view text) {
  if (text == "auto") return {Override::Mode::automatic, {}};
  if (text == "library" || text == "off") return {Override::Mode::library, {}};
  if (text == "on") return {Override::Mode::own, {}};
  Choice choice = parse_choice(collective, text);
  // The protocol without parameters means: with those that Antiphon itself would choose.
  if (choice.algorithm != nullptr && choice.algorithm->credit == CreditWay::free && text == choice.algorithm->name) {
    choice = parse_choice(collective, std::string(text) + credit_parameters(world.settings.credit_bytes));
  }
  return {Override::Mode::fixed, choice};
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(text, &length);
  return text;
}

namespace {

/// MPICH's ABI and the standard one have several implementations: only the library itself tells.
std::string library_name() {
  const std::string version = library_version();
  if (version.rfind("Open MPI", 0) == 0) return "openmpi";
  return version.rfind("MPICH", 0) == 0 ? "mpich" : "";
}

/// MPICH 4.0's persistent requests are not to be trusted: MPI_Startall of its own persistent collectives fails
/// ("already active"), and messages under way beside one end in a failed assertion of its UCX device.
bool library_restarts_requests() {
  const std::string version = library_version();
  return version.rfind("MPICH", 0) != 0 || version.find("\t4.0") == std::string::npos;
}

/// Whether testing for messages gives the core away already when there are none: Open MPI does so where it was told, or
/// saw, that there are more ranks than cores. Twice would let every other rank of the core have two turns.
bool library_yields() {
  int provided = 0;
  int index = 0;
  int value = 0;
  // Open MPI takes this for the level of the whole process, which the program must find as it asked for it.
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  if (PMPI_T_init_thread(level, &provided) != MPI_SUCCESS) return false;
  if (PMPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS) {
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = 0;
    if (PMPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
      if (count == 1) PMPI_T_cvar_read(handle, &value);
      PMPI_T_cvar_handle_free(&handle);
    }
  }
  PMPI_T_finalize();
  return value != 0;
}

bool nothing_to_do() {
  const Settings& s = world.settings;
  const bool one_node =
      std::all_of(world.node_of_rank.begin(), world.node_of_rank.end(), [](int node) { return node == 0; });
  const bool asked = !s.force.empty() || !s.profile.empty() || !s.plan.empty() || !s.summary.empty() ||
                     !s.trace.empty() || s.verbose >= 2 || s.compress != "off";
  return one_node && !asked;
}

}  // namespace

void start_world() {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  world.settings = agree_on_settings(rank);
  if (!world.settings.enabled) return;
  world.mpi = library_name();
  world.restarts_requests = library_restarts_requests();
  world.node_of_rank = given_nodes(world.settings.nodes, rank, size);
  if (world.node_of_rank.empty()) world.node_of_rank = find_nodes(rank, size);
  world.overrides = parse_force(world.settings.force, rank == 0);
  world.profile_rules = parse_profile(world.settings.profile, rank == 0);
  world.plan = parse_plan(world.settings.plan, rank == 0);
  world.rules = world.profile_rules ? &*world.profile_rules : &Rules::defaults();
  world.yields = world.settings.yield && !library_yields();
  PMPI_Comm_group(MPI_COMM_WORLD, &world.group);
  ask_about_aliases();
  world.idle = nothing_to_do();
}

void stop_world() {
  if (world.group != MPI_GROUP_NULL) PMPI_Group_free(&world.group);
  world.profile_rules.reset();
}

}  // namespace antiphon::mpi
