// SPDX-License-Identifier: Apache-2.0
#include "patterns/byte_uses.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

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

TEST_CASE("any reads and writes leave what a record of every byte has") {
  constexpr std::int64_t length = 40;
  struct OfByte {
    OpId writer = no_op;
    Found readers;
  };
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    ByteUses uses;
    std::array<OfByte, length> record;
    const auto drawn = [&] {
      const std::int64_t first = random() % length;
      return bytes(first, first + random() % (length - first + 1));
    };
    for (OpId op = 0; op < 60; ++op) {
      const Range asked = drawn();
      Found readable;
      Found writable;
      for (std::int64_t i = asked.offset_bytes; i < asked.offset_bytes + asked.bytes; ++i) {
        const OfByte& byte = record[static_cast<std::size_t>(i)];
        if (byte.writer != no_op) readable.push_back(byte.writer);
        writable.insert(writable.end(), byte.readers.begin(), byte.readers.end());
      }
      writable.insert(writable.end(), readable.begin(), readable.end());
      REQUIRE(before_read(uses, asked) == sorted(readable));
      REQUIRE(before_write(uses, asked) == sorted(writable));
      const Range used = drawn();
      const bool writes = random() % 2 == 0;
      if (writes) uses.write(used, op);
      else uses.read(used, op);
      for (std::int64_t i = used.offset_bytes; i < used.offset_bytes + used.bytes; ++i) {
        OfByte& byte = record[static_cast<std::size_t>(i)];
        if (writes) byte = {op, {}};
        else byte.readers.push_back(op);
      }
    }
  }
}
