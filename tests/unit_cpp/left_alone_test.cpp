// SPDX-License-Identifier: Apache-2.0
// Checks how a rank tells that its program leaves nonblocking calls alone.
#include <doctest/doctest.h>

#include "run/left_alone.hpp"

using antiphon::mpi::LeftAlone;

namespace {

/// Returns a call that begins at 0 and is looked at from `first_s` to `end_s`, every `every_s`.
LeftAlone::Call call(double first_s, double end_s, double every_s) {
  LeftAlone::Call one;
  one.begin(0);
  for (double t = first_s; t < end_s; t += every_s) one.look(t);
  one.look(end_s);
  return one;
}

}  // namespace

TEST_CASE("what the last long call was like is taken for what the next one will be like") {
  LeftAlone alone;
  CHECK(alone.at_once_bytes() == LeftAlone::first_at_once_bytes);
  alone.note(call(10e-6, 20e-3, 10e-6));  // waited for at once
  CHECK(alone.at_once_bytes() == 0);
  alone.note(call(10e-3, 10e-3, 1));  // all has come during the computation
  CHECK(alone.at_once_bytes() == LeftAlone::most_at_once_bytes);
  alone.note(call(100e-6, 20e-3, 100e-6));  // tested
  CHECK(alone.at_once_bytes() == 0);
  alone.note(call(10e-3, 20e-3, 10e-6));  // what was held back moves after the computation
  CHECK(alone.at_once_bytes() == LeftAlone::most_at_once_bytes);
}

TEST_CASE("a short call, and a core that is lost for a moment, say nothing") {
  LeftAlone alone;
  alone.note(call(10e-6, 20e-3, 4e-3));
  CHECK(alone.at_once_bytes() == 0);
  alone.note(call(0.4e-3, 0.4e-3, 1));
  CHECK(alone.at_once_bytes() == 0);
}
