// SPDX-License-Identifier: Apache-2.0
#include "observe/arrivals.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "job/world_ranks.hpp"

namespace antiphon::mpi {

namespace {

/// This many calls of a sort are kept: 32 KiB.
constexpr std::size_t most_kept = 1024;
/// Is answered for a call that some of its ranks have not kept.
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Mixes all bits (SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

/// Is told to the rank that compares a call's arrivals.
struct Told {
  CallName name;
  double came_s;  ///< by rank 0's clock
  std::int64_t ranks;
};

/// Says how many elements go to, or come from, each rank, and where they lie.
struct Blocks {
  std::vector<int> counts, places;

  explicit Blocks(std::vector<int> given) : counts(std::move(given)), places(counts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  }
  [[nodiscard]] std::size_t total() const {
    return counts.empty() ? 0 : static_cast<std::size_t>(places.back() + counts.back());
  }
};

template <class T>
std::vector<T> exchange(const std::vector<T>& sent, const Blocks& to, const Blocks& from, MPI_Comm comm) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(static_cast<int>(sizeof(T)), MPI_BYTE, &type);
  PMPI_Type_commit(&type);
  std::vector<T> received(from.total());
  PMPI_Alltoallv(sent.data(), to.counts.data(), to.places.data(), type, received.data(), from.counts.data(),
                 from.places.data(), type, comm);
  PMPI_Type_free(&type);
  return received;
}

/// Returns when the last rank came to each call; unknown if not all ranks told.
std::vector<double> last_arrivals(const std::vector<Told>& told) {
  struct Seen {
    std::int64_t ranks = 0;
    double last_s = -std::numeric_limits<double>::infinity();
  };
  std::unordered_map<CallName, Seen> seen;
  for (const Told& t : told) {
    Seen& call = seen[t.name];
    ++call.ranks;
    call.last_s = std::max(call.last_s, t.came_s);
  }
  std::vector<double> last;
  for (const Told& t : told) last.push_back(seen[t.name].ranks == t.ranks ? seen[t.name].last_s : unknown);
  return last;
}

}  // namespace

std::uint64_t communicator_name(MPI_Comm comm) {
  static std::mutex mutex;
  static std::map<std::uint64_t, std::uint64_t> known;
  std::uint64_t members = 0;
  for (const int rank : world_ranks(comm)) members = mix(members + golden + static_cast<std::uint64_t>(rank));
  const std::lock_guard lock(mutex);
  return mix(members + ++known[members] * golden);
}

CallName call_name(std::uint64_t communicator, std::uint64_t number, int kind) {
  return mix(communicator + number * golden + static_cast<std::uint64_t>(kind));
}

void Arrivals::add(const Call& call) {
  if (!keeps(call.name)) return;
  kept_.push_back(call);
  while (kept_.size() > most_kept) {
    ++level_;
    std::erase_if(kept_, [&](const Call& kept) { return !keeps(kept.name); });
  }
}

std::vector<Waited> compare_arrivals(const std::vector<const Arrivals*>& sorts, const ClockScale& clock,
                                     MPI_Comm comm) {
  int size = 1;
  PMPI_Comm_size(comm, &size);
  const auto ranks = static_cast<std::size_t>(size);
  // A call's arrivals meet at the rank that its name says, so that every rank has about the same to compare.
  std::vector<std::pair<std::size_t, const Arrivals::Call*>> order;
  std::vector<int> counts(ranks);
  for (std::size_t sort = 0; sort < sorts.size(); ++sort) {
    for (const Arrivals::Call& call : sorts[sort]->kept()) {
      order.emplace_back(sort, &call);
      ++counts[call.name % ranks];
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto& a, const auto& b) { return a.second->name % ranks < b.second->name % ranks; });
  std::vector<Told> told;
  for (const auto& [sort, call] : order) told.push_back({call->name, clock.common_s(call->began_s), call->ranks});
  std::vector<int> others(ranks);
  PMPI_Alltoall(counts.data(), 1, MPI_INT, others.data(), 1, MPI_INT, comm);
  const Blocks to(std::move(counts));
  const Blocks from(std::move(others));
  const std::vector<double> last_s = exchange(last_arrivals(exchange(told, to, from, comm)), from, to, comm);
  std::vector<Waited> waited(sorts.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (last_s[i] != last_s[i]) continue;
    const double call_s = clock.common_s(order[i].second->ended_s) - told[i].came_s;
    Waited& sum = waited[order[i].first];
    ++sum.calls;
    sum.time_s += call_s;
    sum.waiting_s += std::clamp(last_s[i] - told[i].came_s, 0.0, call_s);
  }
  return waited;
}

}  // namespace antiphon::mpi
