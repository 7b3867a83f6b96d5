// SPDX-License-Identifier: Apache-2.0
#include "antiphon/sparse_traffic.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "antiphon/places.hpp"

namespace antiphon {

namespace {

struct Sum {
  std::int64_t messages = 0, bytes = 0;
};
/// The sums of one sender's messages, by receiver.
using Row = std::map<std::int32_t, Sum>;

/// The call's problem for one rank after the other: its lists are as long as there are ranks, so they are made only
/// once.
class Problems {
 public:
  Problems(const Algorithm& algorithm, const TrafficCall& call, const Parameters& parameters)
      : algorithm_(algorithm), call_(call) {
    if (call.collective == Collective::alltoallv) throw InvalidArgument("the messages of an alltoallv are its counts");
    const auto n = at(call.size);
    if (call.root < 0 || call.root >= call.size)
      throw InvalidArgument("rank " + std::to_string(call.root) + ", the root, does not exist");
    if (!call.counts.empty() && call.counts.size() != n)
      throw InvalidArgument("expected a block's bytes for each rank");
    problem_ = {call.collective, 0, call.size, call.root, call.bytes, call.element_bytes, call.commutative};
    problem_.parameters = resolve_parameters(algorithm, parameters);
    if (!call.node_of_rank.empty()) set_places();
    if (!is_irregular(call.collective)) return;
    sizes_ = call.counts.empty() ? std::vector<std::int64_t>(n, call.bytes) : call.counts;
    offsets_.resize(n);
    std::exclusive_scan(sizes_.begin(), sizes_.end(), offsets_.begin(), std::int64_t{0});
    if (!has_root(call.collective) || algorithm.knowledge == Knowledge::all_counts) give_lists();
  }

  Row row(int rank) {
    problem_.rank = rank;
    if (!sizes_.empty()) problem_.bytes = sizes_[at(rank)];
    const bool rooted = has_root(call_.collective) && !sizes_.empty() && algorithm_.knowledge != Knowledge::all_counts;
    if (rooted && rank == call_.root) give_lists();
    if (!supports(algorithm_, problem_)) {
      throw InvalidArgument(std::string(name(call_.collective)) + ":" + std::string(algorithm_.name) +
                            " does not support this call");
    }
    Row row = sum(build_schedule(algorithm_, problem_));
    if (rooted && rank == call_.root) take_lists();
    return row;
  }

 private:
  void set_places() {
    if (call_.node_of_rank.size() != at(call_.size)) throw InvalidArgument("expected the node of each rank");
    const bool reorders = may_reorder(algorithm_, call_.commutative);
    const auto root = has_root(call_.collective) ? std::optional(call_.root) : std::nullopt;
    Places places = places_along(call_.node_of_rank, {}, reorders ? root : std::nullopt);
    if (!reorders && !places.order.empty()) return;
    problem_.order = std::move(places.order);
    problem_.node_sizes = std::move(places.node_sizes);
  }

  void give_lists() {
    const bool sends = call_.collective == Collective::scatterv;
    (sends ? problem_.send_bytes : problem_.recv_bytes) = sizes_;
    (sends ? problem_.send_offsets : problem_.recv_offsets) = offsets_;
  }
  void take_lists() { problem_.send_bytes = problem_.send_offsets = problem_.recv_bytes = problem_.recv_offsets = {}; }

  Row sum(const Schedule& schedule) const {
    Row row;
    for (const Op& op : schedule.ops()) {
      if (op.kind == OpKind::send) add(row, op.peer, op);
      if (op.kind != OpKind::multicast) continue;
      for (const std::int32_t member : schedule.groups()[at(op.group)]) {
        if (member != problem_.rank) add(row, member, op);
      }
    }
    return row;
  }

  static void add(Row& row, std::int32_t to, const Op& op) {
    Sum& sum = row[to];
    sum.messages += op.pieces();
    sum.bytes += op.bytes();
  }

  const Algorithm& algorithm_;
  const TrafficCall& call_;
  Problem problem_;
  std::vector<std::int64_t> sizes_, offsets_;
};

void append(SparseTraffic& traffic, std::int32_t from, std::int32_t to, const Sum& sum) {
  traffic.source.push_back(from);
  traffic.target.push_back(to);
  traffic.messages.push_back(sum.messages);
  traffic.bytes.push_back(sum.bytes);
}

bool close(std::int64_t a, std::int64_t b) { return std::abs(a - b) * 1000 <= std::max(a, b); }

/// Returns whether rank r's messages are rank 0's, shifted by r ranks. Sets `differs` where bytes differ by less than
/// one in a thousand.
bool rotated(const Row& first, const Row& row, int r, int size, bool& differs) {
  if (first.size() != row.size()) return false;
  for (const auto& [to, sum] : first) {
    const auto found = row.find((to + r) % size);
    if (found == row.end() || found->second.messages != sum.messages || !close(found->second.bytes, sum.bytes))
      return false;
    differs |= found->second.bytes != sum.bytes;
  }
  return true;
}

/// Returns all ranks' messages, derived from rank 0's, if ranks far from one another and from the ends confirm this.
bool by_rotation(Problems& problems, int size, SparseTraffic& traffic) {
  const Row first = problems.row(0);
  for (const int r : {1, 2, 3, size / 3, size / 2 - 1, size / 2, size * 5 / 7, size - 2, size - 1}) {
    if (!rotated(first, problems.row(r), r, size, traffic.approximate)) return traffic.approximate = false;
  }
  for (int from = 0; from < size; ++from) {
    // Receivers are in ascending order, so those that wrap around the end come first.
    const auto wraps = first.lower_bound(size - from);
    for (auto it = wraps; it != first.end(); ++it) append(traffic, from, it->first + from - size, it->second);
    for (auto it = first.begin(); it != wraps; ++it) append(traffic, from, it->first + from, it->second);
  }
  return true;
}

}  // namespace

SparseTraffic sparse_traffic(const Algorithm& algorithm, const TrafficCall& call, const Parameters& parameters) {
  SparseTraffic traffic;
  if (call.size < 1) throw InvalidArgument("there are no ranks");
  Problems problems(algorithm, call, parameters);
  if (call.size > std::max(call.exact_ranks, 3) && by_rotation(problems, call.size, traffic)) return traffic;
  for (int rank = 0; rank < call.size; ++rank) {
    for (const auto& [to, sum] : problems.row(rank)) append(traffic, rank, to, sum);
  }
  return traffic;
}

}  // namespace antiphon
