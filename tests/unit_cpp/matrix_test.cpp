// SPDX-License-Identifier: Apache-2.0
// Checks traffic matrices and the replay on an ideal network.
#include <numeric>

#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/matrix.hpp"
#include "antiphon/replay.hpp"
#include "antiphon/verify.hpp"

using namespace antiphon;

namespace {

std::vector<Schedule> schedules(Collective collective, std::string_view algorithm, int size, std::int64_t bytes,
                                const Parameters& given = {}) {
  const Algorithm* a = find_algorithm(collective, algorithm);
  REQUIRE(a != nullptr);
  Case c{collective, size, 0, bytes};
  c.parameters = resolve_parameters(*a, given);
  std::vector<Schedule> all;
  for (const Problem& p : problems_of(c, a->knowledge)) all.push_back(a->build(p));
  return all;
}

}  // namespace

TEST_CASE("the matrix of a chain has one diagonal, that of an alltoall is full") {
  const auto chain = traffic_of(schedules(Collective::bcast, "chain", 5, 1000, {{"segment_bytes", 300}}));
  const auto alltoall = traffic_of(schedules(Collective::alltoall, "rotated", 5, 1000));
  for (int from = 0; from < 5; ++from) {
    for (int to = 0; to < 5; ++to) {
      CHECK(chain.bytes[chain.cell(from, to)] == (to == from + 1 ? 1000 : 0));
      CHECK(chain.messages[chain.cell(from, to)] == (to == from + 1 ? 4 : 0));
      CHECK(alltoall.bytes[alltoall.cell(from, to)] == (to == from ? 0 : 1000));
    }
  }
  Traffic sum = chain;
  sum += alltoall;
  CHECK(sum.bytes[sum.cell(0, 1)] == 2000);
  CHECK(sum.messages[sum.cell(0, 1)] == 5);
  CHECK_THROWS_AS(sum += Traffic(4), InvalidArgument);
}

TEST_CASE("every algorithm's messages are in its replay, and the replay ends") {
  for (const Algorithm* a : algorithms()) {
    CAPTURE(std::string(name(a->collective)) + ":" + std::string(a->name));
    Case c{a->collective, 8, 0, 30000};
    c.element_bytes = is_reduction(a->collective) ? 8 : 1;
    c.parameters = resolve_parameters(*a, {});
    c.node_sizes = blocked_nodes(8, 2);
    c.switch_sizes = blocked_nodes(8, 4);
    std::vector<Schedule> all;
    for (const Problem& p : problems_of(c, a->knowledge)) all.push_back(a->build(p));
    const Traffic traffic = traffic_of(all);
    Traffic replayed(8);
    const Replay pieces = replay(all, Clock::bytes);
    for (const Transfer& t : pieces.transfers) {
      replayed.messages[replayed.cell(t.from, t.to)] += 1;
      replayed.bytes[replayed.cell(t.from, t.to)] += t.bytes;
      CHECK(t.end - t.begin == t.bytes);
      CHECK(t.end <= pieces.end);
    }
    CHECK(replayed == traffic);
    const std::int64_t total = std::accumulate(traffic.bytes.begin(), traffic.bytes.end(), std::int64_t{0});
    CHECK(pieces.end * 8 >= total);
    const Replay rounds = replay(all, Clock::rounds);
    CHECK(rounds.end <= static_cast<std::int64_t>(rounds.transfers.size()));
  }
}

TEST_CASE("rounds are those of the textbook") {
  CHECK(replay(schedules(Collective::bcast, "chain", 16, 1 << 20), Clock::rounds).end == 15);
  CHECK(replay(schedules(Collective::bcast, "flat", 16, 1 << 20), Clock::rounds).end == 15);
  CHECK(replay(schedules(Collective::bcast, "binomial", 16, 1 << 20), Clock::rounds).end == 4);
  CHECK(replay(schedules(Collective::bcast, "binomial", 4, 1 << 10), Clock::rounds).end == 2);
  CHECK(replay(schedules(Collective::allgather, "ring", 16, 1 << 20), Clock::rounds).end == 15);
  CHECK(replay(schedules(Collective::alltoall, "rotated", 16, 1 << 20), Clock::rounds).end == 15);
  CHECK(replay(schedules(Collective::barrier, "dissemination", 16, 0), Clock::rounds).end == 4);
  CHECK(replay(schedules(Collective::barrier, "dissemination", 1, 0), Clock::rounds).end == 0);
}

TEST_CASE("time on the wire counts a port's bytes, and a pipeline's filling") {
  CHECK(replay(schedules(Collective::alltoall, "rotated", 8, 65536), Clock::bytes).end == 7 * 65536);
  CHECK(replay(schedules(Collective::bcast, "chain", 5, 65536, {{"segment_bytes", 8192}}), Clock::bytes).end ==
        65536 + 3 * 8192);
  // With two ranks per node, three of five links in the chain are between nodes, and the first two ranks share one.
  CHECK(replay(schedules(Collective::bcast, "chain", 6, 65536, {{"segment_bytes", 0}}), Clock::bytes, 2).end ==
        2 * 65536);
  CHECK(replay(schedules(Collective::alltoall, "rotated", 8, 65536), Clock::bytes, 8).end == 0);
}

TEST_CASE("a port takes one message at a time, in rounds and in bytes") {
  for (const Clock clock : {Clock::rounds, Clock::bytes}) {
    const Replay result = replay(schedules(Collective::alltoall, "windowed", 9, 1000), clock);
    for (std::size_t i = 0; i < result.transfers.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const Transfer& a = result.transfers[i];
        const Transfer& b = result.transfers[k];
        const bool apart = a.end <= b.begin || b.end <= a.begin;
        CHECK((apart || (a.from != b.from && a.to != b.to)));
      }
    }
  }
}

TEST_CASE("schedules that do not fit together are refused") {
  std::vector<Schedule> deadlock(2);
  deadlock[0].recv(1, {Space::output, 0, 4});
  CHECK_THROWS_WITH_AS(replay(deadlock, Clock::rounds), "deadlock: rank 0 cannot go on", InvalidArgument);
  std::vector<Schedule> nobody(1);
  nobody[0].send(1, {Space::input, 0, 4});
  CHECK_THROWS_AS(replay(nobody, Clock::bytes), InvalidArgument);
  CHECK_THROWS_AS((void)traffic_of(nobody), InvalidArgument);
  // There are seven messages out, seven in and one copy each.
  CHECK_THROWS_AS(replay(schedules(Collective::alltoall, "rotated", 8, 1000), Clock::rounds, 1, 119), InvalidArgument);
  CHECK_NOTHROW(replay(schedules(Collective::alltoall, "rotated", 8, 1000), Clock::rounds, 1, 120));
}
