// SPDX-License-Identifier: Apache-2.0
// Checks multicasts and encoded data in schedules: verified, replayed, counted, written and read again.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/matrix.hpp"
#include "antiphon/replay.hpp"
#include "antiphon/schedule_json.hpp"
#include "antiphon/verify.hpp"

using namespace antiphon;

namespace {

std::vector<std::int32_t> all_ranks(int size) {
  std::vector<std::int32_t> members;
  for (int r = 0; r < size; ++r) members.push_back(r);
  return members;
}

/// Rank 0's output goes to every rank as one copy on the wire.
Schedule multicast_bcast(int rank, int size, std::int64_t bytes, Cut cut) {
  Schedule s;
  const int group = s.group(all_ranks(size));
  const Range data{Space::output, 0, bytes};
  if (rank == 0) s.multicast(group, data, {}, cut);
  else s.recv_multicast(0, group, data, {}, cut);
  return s;
}

/// The root encodes piece by piece, frames travel down the chain as they are, and each rank decodes what it has passed
/// on.
Schedule encoded_chain(int rank, int size, std::int64_t bytes, Cut cut) {
  Schedule s;
  const Range data{Space::output, 0, bytes};
  const Range frames = s.scratch(encoded_bytes(bytes, cut));
  OpId have = no_op;
  if (rank == 0) {
    have = s.encode(data, frames, {}, cut);
  } else {
    have = s.recv(rank - 1, frames, {}, encoded_cut(cut));
    s.carries_encoded();
  }
  if (rank + 1 < size) {
    s.send(rank + 1, frames, {pipelined(have)}, encoded_cut(cut));
    s.carries_encoded();
  }
  if (rank != 0) s.decode(frames, data, {pipelined(have)}, cut);
  return s;
}

/// The root makes one encoding and one multicast.
Schedule encoded_multicast(int rank, int size, std::int64_t bytes, Cut cut) {
  Schedule s;
  const int group = s.group(all_ranks(size));
  const Range data{Space::output, 0, bytes};
  const Range frames = s.scratch(encoded_bytes(bytes, cut));
  if (rank == 0) {
    const OpId encoded = s.encode(data, frames, {}, cut);
    s.multicast(group, frames, {pipelined(encoded)}, encoded_cut(cut));
    s.carries_encoded();
  } else {
    const OpId received = s.recv_multicast(0, group, frames, {}, encoded_cut(cut));
    s.carries_encoded();
    s.decode(frames, data, {pipelined(received)}, cut);
  }
  return s;
}

using Builder = Schedule (*)(int rank, int size, std::int64_t bytes, Cut cut);

std::vector<Schedule> all_of(Builder build, int size, std::int64_t bytes, Cut cut) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < size; ++rank) schedules.push_back(build(rank, size, bytes, cut));
  return schedules;
}

/// Runs a broadcast from rank 0; half of each run of 64 bytes is zero, so that frames differ in length.
std::string broadcast_fault(const std::vector<Schedule>& schedules, std::int64_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::byte>> data(schedules.size(), std::vector<std::byte>(static_cast<std::size_t>(bytes)));
  for (std::size_t i = 0; i < data[0].size(); ++i)
    data[0][i] = i % 64 < 32 ? static_cast<std::byte>(random()) : std::byte{0};
  std::vector<Memory> memories;
  for (auto& d : data) memories.push_back({nullptr, 0, d.data(), bytes});
  const Reduction none = [](const std::byte*, std::byte*, std::int64_t) {};
  if (auto wrong = run_in_process(schedules, memories, none, seed)) return *wrong;
  for (const auto& d : data) {
    if (d != data[0]) return "wrong result";
  }
  return "";
}

constexpr Cut cuts[]{{}, {64, 0}, {100, 2}, {4096, 1}};

void check_broadcast(Builder build) {
  for (int size = 1; size <= 9; ++size) {
    for (const std::int64_t bytes : {0, 1, 63, 64, 65, 1000}) {
      for (const Cut cut : cuts) {
        const auto schedules = all_of(build, size, bytes, cut);
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
          CAPTURE(size);
          CAPTURE(bytes);
          CAPTURE(cut.piece_bytes);
          CHECK(broadcast_fault(schedules, bytes, seed) == "");
        }
        for (const Schedule& s : schedules) CHECK(schedule_from_json(to_json(s)) == s);
        CHECK_NOTHROW((void)replay(schedules, Clock::rounds));
        CHECK_NOTHROW((void)replay(schedules, Clock::bytes));
      }
    }
  }
}

std::string reading_error(const std::string& text) {
  try {
    (void)schedule_from_json(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("operations: a multicast reaches every member") { check_broadcast(multicast_bcast); }
TEST_CASE("operations: frames are forwarded as they are and decoded everywhere") { check_broadcast(encoded_chain); }
TEST_CASE("operations: encoded once, multicast once") { check_broadcast(encoded_multicast); }

TEST_CASE("operations: a multicast is one message on its sender's wire and one a receiver in the matrix") {
  const auto schedules = all_of(multicast_bcast, 5, 1000, {});
  CHECK(replay(schedules, Clock::rounds).end == 1);
  CHECK(replay(schedules, Clock::bytes).end == 1000);
  CHECK(replay(schedules, Clock::bytes).transfers.size() == 4);
  const Traffic traffic = traffic_of(schedules);
  for (int to = 1; to < 5; ++to) CHECK(traffic.bytes[traffic.cell(0, to)] == 1000);
}

TEST_CASE("operations: the verifier finds what is wrong with a multicast") {
  auto schedules = all_of(multicast_bcast, 3, 64, {});
  schedules[2] = Schedule{};
  CHECK(broadcast_fault(schedules, 64, 1) == "deadlock: rank 0 of 3 cannot go on");
  schedules[2].recv_multicast(0, schedules[2].group({0, 2}), {Space::output, 0, 64});
  CHECK(broadcast_fault(schedules, 64, 1).find("name different groups") != std::string::npos);
  schedules[2] = Schedule{};
  schedules[2].recv(0, {Space::output, 0, 64});
  CHECK(broadcast_fault(schedules, 64, 1).find("deadlock") != std::string::npos);
  schedules[2] = Schedule{};
  schedules[2].recv_multicast(0, schedules[2].group({0, 1}), {Space::output, 0, 64});
  CHECK(broadcast_fault(schedules, 64, 1).find("is not in its group") != std::string::npos);
}

TEST_CASE("operations: the verifier finds what is wrong with encoded data") {
  const Cut cut{32, 1};
  const Range data{Space::output, 0, 64};
  std::vector<Schedule> schedules = all_of(encoded_chain, 2, 64, cut);
  SUBCASE("sent before it is encoded") {
    Schedule s;
    s.send(1, s.scratch(encoded_bytes(64, cut)), {}, encoded_cut(cut));
    s.carries_encoded();
    schedules[0] = s;
    CHECK(broadcast_fault(schedules, 64, 1).find("into which nothing was encoded") != std::string::npos);
  }
  SUBCASE("received as plain bytes") {
    Schedule s;
    s.recv(0, s.scratch(encoded_bytes(64, cut)), {}, encoded_cut(cut));
    schedules[1] = s;
    CHECK(broadcast_fault(schedules, 64, 1).find("differ on whether the message is encoded") != std::string::npos);
  }
  SUBCASE("plain bytes decoded") {
    Schedule s;
    s.decode(s.scratch(encoded_bytes(64, cut)), data, {}, cut);
    CHECK(broadcast_fault({s}, 64, 1).find("decodes what is not") != std::string::npos);
  }
  SUBCASE("ranges of the wrong length are refused") {
    Schedule s;
    CHECK_THROWS_AS(s.encode(data, s.scratch(64), {}, cut), InvalidArgument);
    CHECK_THROWS_AS(s.decode(s.scratch(64), data, {}, cut), InvalidArgument);
    CHECK_THROWS_AS(s.multicast(0, data), InvalidArgument);
  }
}

TEST_CASE("operations: damaged groups are errors that name the field") {
  CHECK(reading_error(R"({"version":1,"scratch_bytes":0,"groups":[[1,0]],"ops":[]})").find("groups[0][1]") !=
        std::string::npos);
  CHECK(reading_error(R"({"version":1,"scratch_bytes":0,"groups":[[0,1],[0,1]],"ops":[]})").find("groups[1]") !=
        std::string::npos);
  CHECK(reading_error(R"({"version":1,"scratch_bytes":0,"ops":[{"op":"multicast","group":0,"from":["input",0,8]}]})")
            .find("ops[0].group") != std::string::npos);
  CHECK(reading_error(
            R"({"version":1,"scratch_bytes":64,"ops":[{"op":"encode","from":["input",0,8],"to":["scratch",0,8]}]})")
            .find("ops[0]") != std::string::npos);
}
