// SPDX-License-Identifier: Apache-2.0
#include "topology/reorder_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "antiphon/error.hpp"
#include "antiphon/mapping.hpp"
#include "job/host_names.hpp"
#include "job/library.hpp"
#include "job/sockets.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "job/world_ranks.hpp"

namespace antiphon::mpi::reordering {

int size_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

namespace {

/// An edge of mean weight stands for this many bytes. Absolute sizes are unknown; the value only decides how latency
/// and rate are weighed against each other.
constexpr double mean_edge_bytes = 8192;
/// An order must be better by more than this share to be worth a change.
constexpr double least_gain = 0.02;

/// Lists the processes of `old` by node, and within a node by socket; this is the order of the machine's slots.
struct Processes {
  std::vector<std::vector<int>> of_node;  ///< old ranks of each node
  std::vector<std::string> names;         ///< names of the nodes
  /// This counts, for each node, the processes on each of its sockets, or all its processes if the sockets are unknown
  /// or have unequal counts.
  std::vector<int> on_a_socket;

  Processes(const std::vector<int>& nodes, const std::vector<std::string>& names_of_ranks,
            const std::vector<int>& sockets) {
    std::map<int, std::size_t> index;
    for (std::size_t r = 0; r < nodes.size(); ++r) {
      const auto [place, fresh] = index.emplace(nodes[r], of_node.size());
      if (fresh) {
        of_node.emplace_back();
        names.push_back(names_of_ranks[r]);
      }
      of_node[place->second].push_back(static_cast<int>(r));
    }
    for (std::vector<int>& ranks : of_node) on_a_socket.push_back(order_by_socket(ranks, sockets));
  }
  [[nodiscard]] int most_on_a_node() const {
    std::size_t most = 0;
    for (const auto& list : of_node) most = std::max(most, list.size());
    return static_cast<int>(most);
  }
  /// Tells whether a change of order can change anything, which needs several nodes or several sockets.
  [[nodiscard]] bool are_apart() const { return of_node.size() > 1 || on_a_socket.front() < most_on_a_node(); }
  /// Returns the old rank in each slot.
  [[nodiscard]] std::vector<int> by_slot() const {
    std::vector<int> list;
    for (const auto& ranks : of_node) list.insert(list.end(), ranks.begin(), ranks.end());
    return list;
  }

 private:
  static int order_by_socket(std::vector<int>& ranks, const std::vector<int>& sockets);
};

/// Returns how many processes are on each socket, or on the whole node if the sockets are unknown or unequally used.
int Processes::order_by_socket(std::vector<int>& ranks, const std::vector<int>& sockets) {
  const auto socket_of = [&](int rank) { return sockets[static_cast<std::size_t>(rank)]; };
  std::map<int, int> count;
  for (const int rank : ranks) ++count[socket_of(rank)];
  const int each = count.begin()->second;
  const bool alike = std::all_of(count.begin(), count.end(), [&](const auto& entry) { return entry.second == each; });
  if (!alike || count.begin()->first < 0) return static_cast<int>(ranks.size());
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return socket_of(a) < socket_of(b); });
  return each;
}

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

/// Returns the profile's nodes on which the job runs, with one core for each process; nothing if the profile lacks a
/// node.
std::optional<mapping::Machine> machine_of_profile(const Processes& processes) {
  if (world.settings.machine.empty()) return std::nullopt;
  const mapping::Machine all = mapping::Machine::of_profile(Profile::parse(world.settings.machine), 0, mean_edge_bytes);
  std::map<std::string, int> known;
  for (int n = 0; n < all.node_count(); ++n) known.emplace(short_name(all.nodes[static_cast<std::size_t>(n)].name), n);
  mapping::Machine job = all;
  job.nodes.clear();
  job.torus.reset();
  job.between_cores.clear();
  job.between_nodes.clear();
  std::vector<int> chosen;
  for (const std::string& name : processes.names) {
    const auto found = known.find(short_name(name));
    if (found == known.end()) {
      warn("--reorder: the profile does not know the node " + name + "; all nodes are taken as equally far");
      return std::nullopt;
    }
    chosen.push_back(found->second);
    job.nodes.push_back(all.nodes[static_cast<std::size_t>(found->second)]);
  }
  for (std::size_t i = 0; !all.between_nodes.empty() && i < chosen.size() * chosen.size(); ++i) {
    const auto from = static_cast<std::size_t>(chosen[i / chosen.size()]);
    job.between_nodes.push_back(
        all.between_nodes[from * all.nodes.size() + static_cast<std::size_t>(chosen[i % chosen.size()])]);
  }
  return job;
}

/// Returns the places of the processes, one core each. Sockets count if the profile knows the distance between them.
mapping::Machine machine_for(const Processes& processes) {
  const int nodes = static_cast<int>(processes.of_node.size());
  auto machine = machine_of_profile(processes);
  if (!machine) {
    const double rate = world.settings.link_bits_per_s > 0 ? static_cast<double>(world.settings.link_bits_per_s) : 1e9;
    machine = mapping::Machine::of_profile(Profile::guess(nodes, processes.most_on_a_node(), rate), 0, mean_edge_bytes);
  }
  std::vector<mapping::NodeKind> kinds;
  for (int n = 0; n < nodes; ++n) {
    mapping::Node& node = machine->nodes[static_cast<std::size_t>(n)];
    const auto& levels = machine->kinds[static_cast<std::size_t>(node.kind)].levels;
    const int cores = static_cast<int>(processes.of_node[static_cast<std::size_t>(n)].size());
    mapping::NodeKind kind{.cores = cores};
    const int on_a_socket = processes.on_a_socket[static_cast<std::size_t>(n)];
    if (on_a_socket < cores && levels.size() > 1) kind.levels.push_back({on_a_socket, levels.front().distance});
    kind.levels.push_back({cores, levels.empty() ? mapping::Distance{} : levels.back().distance});
    kinds.push_back(std::move(kind));
    node.kind = n;
  }
  machine->kinds = std::move(kinds);
  return *machine;
}

mapping::TrafficGraph traffic_of(const std::vector<Edge>& edges, int ranks) {
  double sum = 0;
  for (const Edge& e : edges) sum += e.weight;
  const double bytes = sum > 0 ? mean_edge_bytes * static_cast<double>(edges.size()) / sum : 0;
  std::vector<mapping::TrafficEntry> entries;
  entries.reserve(edges.size());
  for (const Edge& e : edges) {
    if (e.from != e.to && e.weight > 0) entries.push_back({e.from, e.to, 1, e.weight * bytes});
  }
  return mapping::TrafficGraph::of_entries(ranks, entries);
}

/// Returns for how long a better order is sought: few ranks have few orders.
double search_s(int ranks) { return std::min(2e-4 * ranks * ranks, std::max(0.1, 2e-4 * ranks)); }

/// Returns the new rank of each process, or nothing. It may throw.
std::optional<std::vector<int>> seek(const Processes& processes, int ranks, const std::vector<Edge>& edges,
                                     const char* call) {
  const mapping::Task task(traffic_of(edges, ranks), machine_for(processes));
  const std::vector<int> process_of_slot = processes.by_slot();
  mapping::Assignment given;  // where the ranks are without a change
  given.slot_of_rank.resize(static_cast<std::size_t>(ranks));
  for (std::size_t slot = 0; slot < process_of_slot.size(); ++slot) {
    if (process_of_slot[slot] < ranks)
      given.slot_of_rank[static_cast<std::size_t>(process_of_slot[slot])] = static_cast<int>(slot);
  }
  const mapping::Method* const method = mapping::find_method("antiphon");
  if (method == nullptr) throw InvalidArgument("this build has no method to place ranks by");
  const mapping::Assignment found = method->place(task, {.seconds = search_s(ranks)});
  const double before = objective_value(task, given);
  const double after = objective_value(task, found);
  const bool better = after < before * (1 - least_gain);
  if (world.settings.verbose >= 1) {
    const std::string gain = before > 0 ? std::to_string(static_cast<int>(100 * after / before)) + " %" : "nothing";
    warn(std::string(call) + " of " + std::to_string(ranks) + " ranks on " + std::to_string(processes.of_node.size()) +
         " nodes: neighbours' messages cost " + gain + " of the given order's; " +
         (better ? "reordered" : "left as it is"));
  }
  if (!better) return std::nullopt;
  std::vector<int> new_rank(process_of_slot.size(), -1);
  for (int r = 0; r < ranks; ++r) {
    const int slot = found.slot_of_rank[static_cast<std::size_t>(r)];
    new_rank[static_cast<std::size_t>(process_of_slot[static_cast<std::size_t>(slot)])] = r;
  }
  return new_rank;
}

}  // namespace

bool eligible(MPI_Comm old, int reorder) {
  if (!world.active.load(std::memory_order_relaxed) || !world.settings.reorder || reorder == 0 || old == MPI_COMM_NULL)
    return false;
  int inter = 0;
  PMPI_Comm_test_inter(old, &inter);
  // Ranks without Antiphon, as spawned ones may be, answer no questions.
  return inter == 0 && all_in_world(world_ranks(old));
}

std::optional<std::vector<int>> new_ranks(MPI_Comm old, int ranks, const std::function<std::vector<Edge>()>& edges,
                                          const char* call) {
  const std::vector<int> nodes = nodes_of_ranks(world_ranks(old));
  const std::vector<std::string> names = gather_host_names(old);
  const std::vector<int> sockets = gather_sockets(old);
  int rank = 0;
  PMPI_Comm_rank(old, &rank);
  constexpr int unchanged = -2;
  std::vector<int> order(nodes.size(), unchanged);
  if (rank == 0) {
    try {
      const Processes processes(nodes, names, sockets);
      if (processes.are_apart()) order = seek(processes, ranks, edges(), call).value_or(order);
    } catch (const std::exception& e) {
      warn(std::string("--reorder: ") + e.what() + "; ranks stay as they are");
    }
  }
  PMPI_Bcast(order.data(), static_cast<int>(order.size()), MPI_INT, 0, old);
  if (order.front() == unchanged) return std::nullopt;
  return order;
}

int split(MPI_Comm old, const std::vector<int>& new_ranks, MPI_Comm* placed) {
  int rank = 0;
  PMPI_Comm_rank(old, &rank);
  const int key = new_ranks[static_cast<std::size_t>(rank)];
  return PMPI_Comm_split(old, key < 0 ? MPI_UNDEFINED : 0, std::max(key, 0), placed);
}

namespace {

#if ANTIPHON_ABI_MPICH
/// A direct reference to one of the library's variables would be bound when this object is loaded, so a lookup replaces
/// it.
const int* value_of(const char* variable) {
  const auto* place = static_cast<int* const*>(predefined_object(variable));
  return place == nullptr ? nullptr : *place;
}
#endif

}  // namespace

const int* unweighted() {
#if ANTIPHON_ABI_MPICH
  static const int* const value = value_of("MPI_UNWEIGHTED");
  return value;
#else
  return MPI_UNWEIGHTED;
#endif
}

}  // namespace antiphon::mpi::reordering
