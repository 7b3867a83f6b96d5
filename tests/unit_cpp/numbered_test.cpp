// SPDX-License-Identifier: Apache-2.0
#include "compress/numbered.hpp"

#include <doctest/doctest.h>

#include <memory>

using antiphon::mpi::Numbered;

TEST_CASE("numbers start again after the last one, and pass over those in use") {
  Numbered<std::unique_ptr<int>> kept(3);
  std::unique_ptr<int> out;
  CHECK(kept.put(std::make_unique<int>(10)) == 1);
  CHECK(kept.put(std::make_unique<int>(20)) == 2);
  CHECK(kept.take(1, out));
  CHECK(kept.put(std::make_unique<int>(30)) == 3);
  CHECK(kept.put(std::make_unique<int>(40)) == 1);
  CHECK(kept.take(3, out));
  CHECK(*out == 30);
  CHECK(kept.put(std::make_unique<int>(50)) == 3);
  CHECK(kept.size() == 3);
  CHECK(kept.put(std::make_unique<int>(60)) == 0);
  CHECK(kept.take(2, out));
  CHECK(*out == 20);
  CHECK_FALSE(kept.take(2, out));
  CHECK_FALSE(kept.take(0, out));
}
