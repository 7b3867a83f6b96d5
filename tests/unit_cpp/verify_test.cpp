// SPDX-License-Identifier: Apache-2.0
// The verifier must find what is wrong with a schedule: each test has one broken schedule for a kind of fault, next to
// its right form.
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/verify.hpp"

using namespace antiphon;

namespace {

constexpr std::int64_t memory_bytes = 64;

Range in(std::int64_t offset, std::int64_t bytes) { return {Space::input, offset, bytes}; }
Range out(std::int64_t offset, std::int64_t bytes) { return {Space::output, offset, bytes}; }

/// Runs two ranks (or as many as there are schedules) with 64 bytes of input and output each, in several interleavings.
/// Returns all that was reported.
std::string faults(const std::vector<Schedule>& schedules) {
  std::string found;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::vector<std::vector<std::byte>> bytes(2 * schedules.size(), std::vector<std::byte>(memory_bytes));
    std::vector<Memory> memories;
    for (std::size_t r = 0; r < schedules.size(); ++r) {
      memories.push_back({bytes[2 * r].data(), memory_bytes, bytes[2 * r + 1].data(), memory_bytes});
    }
    const Reduction add = [](const std::byte* from, std::byte* to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = static_cast<std::byte>(static_cast<int>(to[i]) + static_cast<int>(from[i]));
    };
    if (const auto wrong = run_in_process(schedules, memories, add, seed)) found += *wrong + '\n';
  }
  return found;
}

bool reports(const std::vector<Schedule>& schedules, const std::string& text) {
  const std::string found = faults(schedules);
  CAPTURE(found);
  return found.find(text) != std::string::npos;
}

/// Returns what check() says of an algorithm that is made of this builder.
std::string wrong_result(Collective collective, Schedule (*build)(const Problem&)) {
  const Algorithm broken{collective, "broken", "for a test", {}, nullptr, build};
  std::string found;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Case c{collective, 3, 0, 40, 1, true, false, seed, {}};
    if (const auto wrong = check(broken, c)) found += *wrong + '\n';
  }
  return found;
}

}  // namespace

TEST_CASE("verifier: a right exchange passes") {
  std::vector<Schedule> schedules(2);
  for (int rank = 0; rank < 2; ++rank) {
    auto& s = schedules[static_cast<std::size_t>(rank)];
    s.send(1 - rank, in(0, 40), {}, {8, 2});
    s.recv(1 - rank, out(0, 40), {}, {8, 2});
  }
  CHECK(faults(schedules).empty());
}

TEST_CASE("verifier: both ranks receive before they send: deadlock") {
  std::vector<Schedule> schedules(2);
  for (int rank = 0; rank < 2; ++rank) {
    auto& s = schedules[static_cast<std::size_t>(rank)];
    const OpId received = s.recv(1 - rank, out(0, 8));
    s.send(1 - rank, in(0, 8), {received});
  }
  CHECK(reports(schedules, "deadlock"));
}

TEST_CASE("verifier: pacing that waits for a piece beyond the window is a deadlock") {
  std::vector<Schedule> schedules(2);
  for (int rank = 0; rank < 2; ++rank) {
    auto& s = schedules[static_cast<std::size_t>(rank)];
    const OpId received = s.recv(1 - rank, out(0, 32), {}, {8, 1});
    s.send(1 - rank, in(0, 32), {paced(received, 0)}, {8, 1});
  }
  CHECK(reports(schedules, "deadlock"));
}

TEST_CASE("verifier: a message that nobody receives, and one that nobody sends") {
  std::vector<Schedule> sends(2);
  sends[0].send(1, in(0, 8));
  CHECK_FALSE(faults(sends).empty());
  std::vector<Schedule> receives(2);
  receives[1].recv(0, out(0, 8));
  CHECK_FALSE(faults(receives).empty());
}

TEST_CASE("verifier: a tag that the other side does not expect") {
  std::vector<Schedule> schedules(2);
  schedules[0].send(1, in(0, 8), {}, {}, 1);
  schedules[1].recv(0, out(0, 8), {}, {}, 2);
  CHECK_FALSE(faults(schedules).empty());
}

TEST_CASE("verifier: messages of different length on both sides") {
  std::vector<Schedule> schedules(2);
  schedules[0].send(1, in(0, 8));
  schedules[1].recv(0, out(0, 16));
  CHECK(reports(schedules, "expects 16"));
}

TEST_CASE("verifier: sender and receiver cut differently") {
  std::vector<Schedule> schedules(2);
  schedules[0].send(1, in(0, 32), {}, {8, 1});
  schedules[1].recv(0, out(0, 32), {}, {16, 1});
  CHECK(reports(schedules, "expects 16"));
}

TEST_CASE("verifier: two messages whose order is not fixed get mixed up") {
  // The first of rank 1's receives waits for another operation, so the second can be posted before it.
  std::vector<Schedule> schedules(3);
  const OpId first = schedules[0].send(1, in(0, 8));
  schedules[0].send(1, in(8, 16), {first});
  const OpId from_two = schedules[1].recv(2, out(32, 8));
  schedules[1].recv(0, out(0, 8), {from_two});
  schedules[1].recv(0, out(8, 16));
  schedules[2].send(1, in(0, 8));
  CHECK(reports(schedules, "expects"));
}

TEST_CASE("verifier: two receives into the same bytes at the same time") {
  std::vector<Schedule> schedules(3);
  schedules[0].send(2, in(0, 16));
  schedules[1].send(2, in(0, 16));
  const OpId first = schedules[2].recv(0, out(0, 16));
  schedules[2].recv(1, out(8, 16));
  CHECK(reports(schedules, "same bytes"));

  std::vector<Schedule> right = schedules;
  right[2] = Schedule();
  const OpId before = right[2].recv(0, out(0, 16));
  right[2].recv(1, out(8, 16), {before});
  CHECK(first == before);
  CHECK(faults(right).empty());
}

TEST_CASE("verifier: a buffer is written while it is sent") {
  std::vector<Schedule> schedules(2);
  schedules[0].send(1, out(0, 16));
  schedules[0].copy(in(0, 16), out(0, 16));
  schedules[1].recv(0, out(0, 16));
  CHECK(reports(schedules, "same bytes"));
}

TEST_CASE("verifier: ranges outside their memory") {
  for (const Range& range : {out(60, 8), out(-4, 8), Range{Space::scratch, 0, 8}, out(memory_bytes, 8)}) {
    std::vector<Schedule> schedules(2);
    schedules[0].send(1, in(0, 8));
    schedules[1].recv(0, range);
    CHECK(reports(schedules, "outside its memory"));
  }
}

TEST_CASE("verifier: a message to a rank that does not exist") {
  for (const int peer : {-1, 2}) {
    std::vector<Schedule> schedules(2);
    schedules[0].send(peer, in(0, 8));
    CHECK(reports(schedules, "does not exist"));
  }
}

TEST_CASE("a schedule refuses dependencies on operations that are not before") {
  Schedule s;
  CHECK_THROWS_AS(s.send(1, in(0, 8), {OpId{0}}), InvalidArgument);  // itself
  Schedule t;
  t.recv(1, out(0, 8));
  CHECK_THROWS_AS(t.send(1, in(0, 8), {OpId{2}}), InvalidArgument);  // a later one
  CHECK_THROWS_AS(Schedule().copy(in(0, 8), out(0, 16)), InvalidArgument);
  CHECK_THROWS_AS(Schedule().send(1, in(0, -8)), InvalidArgument);
}

TEST_CASE("check: a rank that passes data on before it has it gives a wrong result") {
  const auto early = [](const Problem& p) {
    Schedule s;
    // Rank 1 forwards to rank 2 without waiting for what it forwards.
    if (p.rank == 0) s.send(1, p.whole_output());
    if (p.rank == 1) {
      const Range buffer = s.scratch(p.bytes);
      const OpId received = s.recv(0, buffer);
      s.copy(buffer, p.whole_output(), {received});
      s.send(2, p.whole_output());
    }
    if (p.rank == 2) s.recv(1, p.whole_output());
    return s;
  };
  const std::string found = wrong_result(Collective::bcast, early);
  CHECK(found.find("wrong result") != std::string::npos);
}

TEST_CASE("check: a pipeline that waits for the piece before the one it needs is found") {
  const auto off_by_one = [](const Problem& p) {
    Schedule s;
    const Cut cut{8, 4};
    OpId have = no_op;
    if (p.rank > 0) have = s.recv(p.rank - 1, p.whole_output(), {}, cut);
    if (p.rank < 2) s.send(p.rank + 1, p.whole_output(), {paced(have, 1)}, cut);
    return s;
  };
  CHECK_FALSE(wrong_result(Collective::bcast, off_by_one).empty());
}

TEST_CASE("check: operands in the wrong order, left out, or taken twice") {
  const auto reversed = [](const Problem& p) {
    Schedule s;
    if (p.rank > 0) {
      s.send(0, p.whole_input());
      return s;
    }
    OpId have = s.copy(p.whole_input(), p.whole_output());
    for (int from = 1; from < p.size; ++from) {
      const Range right = s.scratch(p.bytes);
      const OpId received = s.recv(from, right);
      have = s.reduce(right, p.whole_output(), {received, have});  // from the left, where it belongs to the right
    }
    return s;
  };
  const Algorithm broken{Collective::reduce, "broken", "for a test", {}, nullptr, reversed};
  CHECK_FALSE(check(broken, {Collective::reduce, 4, 0, 40, 8, true, false, 3, {}}));
  const auto wrong = check(broken, {Collective::reduce, 4, 0, 40, 8, false, false, 3, {}});
  REQUIRE(wrong);
  CHECK(wrong->find("wrong result") != std::string::npos);

  const auto left_out = [](const Problem& p) {
    Schedule s;
    if (p.rank == 0) s.copy(p.whole_input(), p.whole_output());
    return s;
  };
  CHECK(wrong_result(Collective::reduce, left_out).find("wrong result") != std::string::npos);
}

TEST_CASE("check: output that must stay untouched, and input, are looked at too") {
  const auto writes_rank_zero = [](const Problem& p) {
    Schedule s;
    if (p.rank > 0) s.recv(p.rank - 1, p.whole_output());
    if (p.rank < p.size - 1) s.send(p.rank + 1, p.whole_input());
    if (p.rank == 0) s.copy(p.whole_input(), p.whole_output());
    return s;
  };
  const Algorithm untouched{Collective::exscan, "broken", "for a test", {}, nullptr, writes_rank_zero};
  const auto wrong = check(untouched, {Collective::exscan, 2, 0, 40, 8, true, false, 1, {}});
  REQUIRE(wrong);
  CHECK(wrong->find("rank 0 has a wrong result") != std::string::npos);

  const auto changes_input = [](const Problem& p) {
    Schedule s;
    if (p.rank == 0) s.copy(p.whole_output(), p.whole_input());
    return s;
  };
  const Algorithm changing{Collective::scan, "broken", "for a test", {}, nullptr, changes_input};
  CHECK(check(changing, {Collective::scan, 1, 0, 40, 8, true, false, 1, {}}));
}
