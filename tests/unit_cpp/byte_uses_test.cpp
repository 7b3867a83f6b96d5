// SPDX-License-Identifier: Apache-2.0
#include "patterns/byte_uses.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace antiphon;

namespace {

using Found = std::vector<OpId>;

Range bytes(std::int64_t first, std::int64_t last) { return {Space::output, first, last - first}; }

Found sorted(Found found) {
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Found before_read(const ByteUses& uses, const Range& range) {
  Found found;
  uses.before_read(range, found);
  return sorted(found);
}

Found before_write(const ByteUses& uses, const Range& range) {
  Found found;
  uses.before_write(range, found);
  return sorted(found);
}

}  // namespace

TEST_CASE("bytes know who wrote them last, and who has read them since") {
  ByteUses uses;
  CHECK(before_write(uses, bytes(0, 100)).empty());
  uses.write(bytes(10, 50), 1);
  uses.write(bytes(30, 40), 2);
  CHECK(before_read(uses, bytes(0, 10)).empty());
  CHECK(before_read(uses, bytes(10, 30)) == Found{1});
  CHECK(before_read(uses, bytes(30, 40)) == Found{2});
  CHECK(before_read(uses, bytes(39, 41)) == Found{1, 2});
  uses.read(bytes(0, 35), 3);  // also bytes that nobody has written
  CHECK(before_write(uses, bytes(0, 5)) == Found{3});
  CHECK(before_write(uses, bytes(34, 36)) == Found{2, 3});
  CHECK(before_write(uses, bytes(35, 40)) == Found{2});
  CHECK(before_read(uses, bytes(0, 100)) == Found{1, 2});
  uses.write(bytes(0, 100), 4);
  CHECK(before_write(uses, bytes(20, 90)) == Found{4});
}

TEST_CASE("spaces are apart, and empty ranges touch nothing") {
  ByteUses uses;
  uses.write(bytes(0, 10), 1);
  CHECK(before_write(uses, {Space::input, 0, 10}).empty());
  uses.write(bytes(5, 5), 2);
  uses.read(bytes(5, 5), 3);
  CHECK(before_write(uses, bytes(0, 10)) == Found{1});
  CHECK(before_write(uses, bytes(5, 5)).empty());
}
