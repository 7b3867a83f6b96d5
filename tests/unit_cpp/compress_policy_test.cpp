// SPDX-License-Identifier: Apache-2.0
// Checks when messages are compressed: the cost is bounded where compression does not pay, and the decision does not
// oscillate.
#include <doctest/doctest.h>

#include "compress/policy.hpp"

using antiphon::mpi::margin;
using antiphon::mpi::margin_to_go_on;
using antiphon::mpi::Policy;

namespace {

/// Returns how many of these messages are encoded when each saves `saved` times the cost of coding.
int encoded(Policy& policy, int messages, double saved) {
  int count = 0;
  for (int i = 0; i < messages; ++i) {
    if (policy.pauses()) continue;
    policy.learn(saved * 1e-5, 1e-5);
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a channel that does not gain is tried ever more rarely") {
  Policy policy;
  CHECK(encoded(policy, 1000, 0) < 20);
  CHECK(encoded(policy, 1'000'000, 0) < 300);
  CHECK_FALSE(policy.pays());
}

TEST_CASE("a channel that gains is encoded from its first message on") {
  Policy policy;
  CHECK(encoded(policy, 1000, 1.1 * margin) == 1000);
  CHECK(policy.pays());
}

TEST_CASE("between the two margins a channel stays as it is") {
  const double between = (margin + margin_to_go_on) / 2;
  Policy on;
  encoded(on, 100, 2 * margin);
  CHECK(encoded(on, 1000, between) == 1000);
  Policy off;
  encoded(off, 100, 0);
  CHECK(encoded(off, 1000, between) < 20);
}

TEST_CASE("what becomes worthwhile is found, and what ceases to be is left") {
  Policy policy;
  encoded(policy, 10'000, 0);
  encoded(policy, 40'000, 10 * margin);
  CHECK(policy.pays());
  CHECK(encoded(policy, 1000, 0) < 40);
  CHECK_FALSE(policy.pays());
}

TEST_CASE("one odd message does not turn a channel off") {
  Policy policy;
  encoded(policy, 100, 2 * margin);
  encoded(policy, 1, 0);
  CHECK(policy.pays());
}
