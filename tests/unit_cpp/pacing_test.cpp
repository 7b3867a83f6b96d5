// SPDX-License-Identifier: Apache-2.0
// What is under way to a rank that is late: rings and granted chains send it no more than their windows.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/algorithm.hpp"
#include "antiphon/cost.hpp"
#include "antiphon/select.hpp"
#include "patterns/lane.hpp"

using namespace antiphon;

namespace {

/// All ranks but one go on as far as they can without it, on a network that takes every message at once.
class OneIsLate {
 public:
  OneIsLate(const PredictedCall& call, const std::string& algorithm, int ranks, int late) : late_(late) {
    const Choice choice = parse_choice(call.collective, algorithm);
    for (int rank = 0; rank < ranks; ++rank) {
      schedules_.push_back(
          choice.algorithm->build(problem_of(call, rank, ranks, *choice.algorithm, choice.parameters)));
      complete_.emplace_back(schedules_.back().ops().size(), 0);
    }
    while (go_on()) {
    }
  }

  /// The pieces of data that the late rank would find when it begins.
  [[nodiscard]] std::int64_t waiting_pieces() const {
    std::int64_t pieces = 0;
    for (const auto& [message, count] : sent_) {
      if (std::get<1>(message) == late_) pieces += count;
    }
    return pieces;
  }

 private:
  using Message = std::tuple<int, int, int>;  // from, to, tag

  [[nodiscard]] bool may_go(std::size_t rank, const Op& op, std::int64_t piece) const {
    for (const Dep& dep : schedules_[rank].deps(op)) {
      if (dep.op == no_op) continue;
      const std::int64_t pieces = schedules_[rank].ops()[dep.op].pieces();
      const std::int64_t started = std::clamp<std::int64_t>(piece - dep.lag + 1, 0, pieces);
      const std::int64_t needed = dep.lag == Dep::whole ? pieces : started;
      if (complete_[rank][dep.op] < needed) return false;
    }
    return true;
  }

  bool go_on() {
    bool moved = false;
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
      if (static_cast<int>(rank) == late_) continue;
      const auto ops = schedules_[rank].ops();
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const Op& op = ops[i];
        std::int64_t& done = complete_[rank][i];
        if (done == op.pieces() || !may_go(rank, op, done)) continue;
        const int self = static_cast<int>(rank);
        if (op.kind == OpKind::send) ++sent_[{self, op.peer, op.tag}];
        if (op.kind == OpKind::recv && --sent_[{op.peer, self, op.tag}] < 0) {
          sent_[{op.peer, self, op.tag}] = 0;
          continue;
        }
        ++done;
        moved = true;
      }
    }
    return moved;
  }

  int late_;
  std::vector<Schedule> schedules_;
  std::vector<std::vector<std::int64_t>> complete_;
  std::map<Message, std::int64_t> sent_;
};

}  // namespace

TEST_CASE("no more than a window for each other rank is under way to a rank of a ring that is late") {
  const std::string text = "ring:segment_bytes=1000,window=3";
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter_block, Collective::allreduce}) {
    CAPTURE(name(collective));
    for (const int ranks : {2, 5, 8}) {
      const std::int64_t bytes = collective == Collective::allreduce ? 40000 * ranks : 40000;
      CHECK(OneIsLate({collective, bytes}, text, ranks, 1).waiting_pieces() == 3 * (ranks - 1));
    }
  }
}

TEST_CASE("no more than a window is under way to a rank of a granted chain that is late") {
  for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::scan, Collective::exscan}) {
    CAPTURE(name(collective));
    const int late = collective == Collective::reduce ? 2 : 3;
    const std::string text = "chain:segment_bytes=1000,window=4";
    CHECK(OneIsLate({collective, 40000}, text + ",granted=1", 6, late).waiting_pieces() == 4);
    CHECK(OneIsLate({collective, 40000}, text, 6, late).waiting_pieces() == 40);
    // A message within the window needs no grant.
    CHECK(OneIsLate({collective, 4000}, text + ",granted=1", 6, late).waiting_pieces() == 4);
  }
}

TEST_CASE("phases without a window hold back nothing, and a token for a long block is not awaited") {
  const std::string text = "rotated:piece_bytes=1000,sync=1,token_bytes=4000,window=";
  for (const int ranks : {3, 8}) {
    const int others = ranks - 1;
    CHECK(OneIsLate({Collective::alltoall, 4000}, text + "1024", ranks, 1).waiting_pieces() == others * 4);
    CHECK(OneIsLate({Collective::alltoall, 8000}, text + "1024", ranks, 1).waiting_pieces() == others * (8 + 1));
    // One of them sends a token to the late rank, and waits for its data.
    CHECK(OneIsLate({Collective::alltoall, 8000}, text + "2", ranks, 1).waiting_pieces() <= others);
  }
}

TEST_CASE("a message of a lane waits for those that a window does not hold, and for no other, by few operations") {
  constexpr std::int64_t piece_bytes = 1000;
  constexpr std::int32_t window = 4;
  // A thousand short ones, some that fill a piece, and short ones again; the bytes of each are different.
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 2100; ++i) lengths.push_back(i >= 1000 && i < 1100 ? 800 + i % 200 : 1 + i % 7);
  Schedule s;
  Lane lane({piece_bytes, window});
  std::vector<OpId> ops;
  std::vector<std::int64_t> starts;
  for (const std::int64_t length : lengths) {
    ops.push_back(s.recv(1, {Space::output, 0, length}, {}, {piece_bytes, window}));
    starts.push_back(lane.end());
    lane.append(s);
  }
  // What is complete when an operation may begin: all of its predecessors, and theirs.
  std::vector<std::vector<bool>> before;
  for (const Op& op : s.ops()) {
    std::vector<bool> all(s.ops().size(), false);
    for (const Dep& dep : s.deps(op)) {
      all[dep.op] = true;
      for (std::size_t i = 0; i < dep.op; ++i) all[i] = all[i] || before[dep.op][i];
    }
    before.push_back(std::move(all));
  }
  std::size_t most = 0;
  int different = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    most = std::max(most, s.deps(s.ops()[ops[i]]).size());
    for (std::size_t j = 0; j < i; ++j)
      different += before[ops[i]][ops[j]] != (starts[j] <= starts[i] - window * piece_bytes) ? 1 : 0;
  }
  CHECK(different == 0);
  CHECK(most <= 40);
  CHECK(s.ops().size() < ops.size() * 9 / 8);
}
