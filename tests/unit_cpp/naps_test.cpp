// SPDX-License-Identifier: Apache-2.0
// Checks when ranks sleep that wait for messages, in a control group that is stopped when it has used its time up.
#include "antiphon/naps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

using antiphon::Naps;

namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;

/// A rank in a group that may run for a part of each period. It waits for messages that come at certain times.
struct Waiter {
  double part = 1;
  std::int64_t period_ns = 100 * ms;
  std::int64_t now_ns = 0, used_ns = 0, stopped = 0, slept_ns = 0;
  double longest_part = 0;  ///< that a nap was of its wait so far
  Naps naps{[this] { return stopped; }};

  /// Messages come so long after the last one was found.
  void wait_for_messages(std::int64_t each_ns, std::int64_t for_ns) {
    for (const std::int64_t end_ns = now_ns + for_ns; now_ns < end_ns;) {
      const std::int64_t began_ns = now_ns;
      naps.note_call();
      while (now_ns < began_ns + each_ns) look(began_ns);
      spend(10 * us);
    }
  }

 private:
  void look(std::int64_t began_ns) {
    spend(us / 2);
    const std::int64_t nap_ns = naps.look(now_ns);
    if (nap_ns == 0) return;
    longest_part = std::max(longest_part, static_cast<double>(nap_ns) / static_cast<double>(now_ns - began_ns));
    pass(nap_ns + 60 * us);
    slept_ns += nap_ns;
    naps.slept(now_ns);
  }
  void pass(std::int64_t ns) {
    const std::int64_t period = now_ns / period_ns;
    now_ns += ns;
    if (now_ns / period_ns != period) used_ns = 0;
  }
  void spend(std::int64_t ns) {
    pass(ns);
    used_ns += ns;
    if (static_cast<double>(used_ns) <= part * static_cast<double>(period_ns)) return;
    ++stopped;
    pass(period_ns - now_ns % period_ns);
  }
};

}  // namespace

TEST_CASE("who has time enough never sleeps") {
  Waiter waiter;
  waiter.wait_for_messages(5 * ms, 2'000 * ms);
  CHECK(waiter.slept_ns == 0);
}

TEST_CASE("a group that was stopped is stopped no more by waits for messages that come late") {
  for (const double part : {0.9, 0.5, 0.2}) {
    CAPTURE(part);
    Waiter waiter{.part = part};
    waiter.wait_for_messages(5 * ms, 3'000 * ms);
    CHECK(waiter.stopped == 1);
    // It is tried without naps, ever less often.
    waiter.wait_for_messages(5 * ms, 100'000 * ms);
    CHECK(waiter.stopped <= 6);
    CHECK(waiter.longest_part <= 0.5);
  }
}

TEST_CASE("who was stopped once, at the start, sleeps for a while only") {
  Waiter waiter;
  waiter.wait_for_messages(ms, 50 * ms);
  waiter.stopped = 1;
  waiter.wait_for_messages(ms, 1'000 * ms);
  CHECK(waiter.slept_ns > 0);
  waiter.wait_for_messages(ms, 5'000 * ms);
  const std::int64_t before_ns = waiter.slept_ns;
  waiter.wait_for_messages(ms, 5'000 * ms);
  CHECK(waiter.slept_ns == before_ns);
}

TEST_CASE("messages that come soon are waited for without sleep") {
  Waiter waiter{.part = 0.5};
  waiter.wait_for_messages(150 * us, 2'000 * ms);
  CHECK(waiter.stopped > 10);
  CHECK(waiter.slept_ns == 0);
}
