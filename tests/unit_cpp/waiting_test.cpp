// SPDX-License-Identifier: Apache-2.0
// Checks the policy of waiting: how often a rank looks before it sleeps, for how long, and when it may block.
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "run/waiting.hpp"

using antiphon::mpi::begin_operation;
using antiphon::mpi::end_operation;
using antiphon::mpi::StepPatience;
using antiphon::mpi::Waiting;
using antiphon::mpi::Yields;

namespace {

std::atomic<int> yielded = 0;

}  // namespace

/// Counts, instead of the C library's.
extern "C" int sched_yield() noexcept {
  ++yielded;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

constexpr double own_core = 1.0;
constexpr double shared_core = 3.0;

/// Returns how many looks for packets there are before the first that may sleep.
int looks_before_sleep(Waiting& waiting, double crowding) {
  int looks = 0;
  while (waiting.look_for_packets(crowding) == 0) ++looks;
  return looks;
}

/// During its lifetime, a persistent operation is under way beside what waits.
struct OperationBeside {
  OperationBeside() {
    begin_operation([] { ++advanced; });
  }
  ~OperationBeside() { end_operation(); }
  static inline int advanced = 0;
};

}  // namespace

TEST_CASE("a rank looks for a while before it sleeps, less long where others need its core") {
  Waiting waiting(Yields::here);
  CHECK(looks_before_sleep(waiting, own_core) == 200);
  waiting.note_move();
  CHECK(looks_before_sleep(waiting, shared_core) == 64);
  Waiting without_yield(Yields::nobody);
  CHECK(looks_before_sleep(without_yield, shared_core) == 0);
}

TEST_CASE("the first sleep for packets is the longest") {
  Waiting waiting(Yields::nobody);
  CHECK(waiting.look_for_packets(shared_core) == 5'000'000);
  waiting.note_sleep_in_vain(5'000'000);
  CHECK(waiting.look_for_packets(shared_core) == 1'000'000);
  waiting.note_sleep_in_vain(1'000'000);
  CHECK(waiting.slept_in_vain_ns() == 6'000'000);
  waiting.note_move();
  CHECK(waiting.slept_in_vain_ns() == 0);
  CHECK(waiting.look_for_packets(shared_core) == 5'000'000);
}

TEST_CASE("messages under way keep a rank awake, and their looks count") {
  Waiting waiting(Yields::here);
  for (int i = 0; i < 1000; ++i) CHECK(waiting.look_beside_messages() == 0);
  CHECK(waiting.look_for_packets(own_core) == 5'000'000);
}

TEST_CASE("operations beside a wait go on in its pauses and keep it from blocking") {
  Waiting waiting(Yields::nobody);
  CHECK(waiting.may_block(8));
  CHECK_FALSE(waiting.may_block(7));
  {
    const OperationBeside operation;
    CHECK_FALSE(waiting.may_block(8));
    CHECK(waiting.look_for_packets(shared_core) == 200'000);
    waiting.pause();
    CHECK(OperationBeside::advanced == 1);
  }
  waiting.pause();
  CHECK(OperationBeside::advanced == 1);
}

TEST_CASE("a core is given away once, by the library or here") {
  const auto given_away = [](Yields yields, bool asks_library) {
    Waiting waiting(yields);
    const int before = yielded;
    for (int i = 0; i < 3; ++i) {
      if (asks_library) waiting.note_library_look();
      waiting.pause();
    }
    return yielded - before;
  };
  CHECK(given_away(Yields::library, true) == 0);
  CHECK(given_away(Yields::library, false) == 3);
  CHECK(given_away(Yields::here, true) == 3);
  CHECK(given_away(Yields::nobody, false) == 0);
}

TEST_CASE("who only looks neither blocks nor sleeps") {
  Waiting never = Waiting::never();
  CHECK_FALSE(never.may_block(1000));
  for (int i = 0; i < 1000; ++i) CHECK(never.look_for_packets(shared_core) == 0);
}

TEST_CASE("a rank's patience suits its link") {
  CHECK(StepPatience::usual_s(16384, 1'000'000'000) == doctest::Approx(16 * 8 * 16384 / 1e9));
  CHECK(StepPatience::usual_s(1, 1'000'000'000) == doctest::Approx(1e-3));
  CHECK(StepPatience::usual_s(16384, 0) == StepPatience::usual_s(16384, 1'000'000));
}

TEST_CASE("patience ends when nothing moves for too long") {
  StepPatience patience;
  patience.begin(0);
  CHECK_FALSE(patience.ends());  // the clock has only begun
  while (!patience.ends()) {
  }
  patience.note_move();
  CHECK_FALSE(patience.ends());
  patience.begin(1e9);
  CHECK_FALSE(patience.ends());
  CHECK_FALSE(patience.ends());
}
