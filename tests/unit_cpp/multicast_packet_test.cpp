// SPDX-License-Identifier: Apache-2.0
// Checks packets, tags and the replay window.
#include <algorithm>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "../fuzz/multicast_target.hpp"
#include "replay_corpus.hpp"

using namespace antiphon::multicast;

namespace {

void replay(const std::string& folder, bool (*holds)(std::string_view)) {
  const auto changed_byte = [](std::mt19937& random) { return static_cast<char>(random()); };
  CHECK(replay_corpus(folder, holds, 40, 4, changed_byte) > 4);
}

}  // namespace

TEST_CASE("multicast: the corpus of packets") { replay("multicast_packet", antiphon::fuzz::multicast_packet); }
TEST_CASE("multicast: the corpus of descriptions") {
  replay("multicast_description", antiphon::fuzz::multicast_description);
}

TEST_CASE("multicast: heads") {
  std::vector<std::byte> packet(head_bytes + tag_bytes);
  const Head head{Type::nack, 3, 4, 0x0123456789ABCDEF, 77};
  put_head(packet.data(), head);
  CHECK(parse_head(packet) == head);
  CHECK(packet[8] == std::byte{0x01});               // big-endian
  for (const std::size_t byte : {0U, 1U, 2U, 3U}) {  // magic, version, type
    auto other = packet;
    other[byte] = std::byte{0xFF};
    CHECK_FALSE(parse_head(other));
  }
  CHECK_FALSE(parse_head(std::span(packet).first(packet.size() - 1)));
}

TEST_CASE("multicast: all ways of sealing give the same tag, and every bit counts") {
  std::vector<std::byte> bytes(1464);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31);
  const Key key{1, 2, 3, 4};
  const auto functions = Seal::functions();
  for (const std::size_t length : {0U, 1U, 31U, 32U, 33U, 48U, 100U, 1464U}) {
    const std::uint64_t tag = functions.front()(key, std::span(bytes).first(length), {});
    for (const auto function : functions) {
      CHECK(function(key, std::span(bytes).first(length), {}) == tag);
      CHECK(function(key, std::span(bytes).first(length / 3), std::span(bytes).first(length).subspan(length / 3)) ==
            tag);
      CHECK(function(Key{1, 2, 3, 5}, std::span(bytes).first(length), {}) != tag);
    }
  }
  const std::uint64_t tag = functions.back()(key, bytes, {});
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 37) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    CHECK(functions.back()(key, bytes, {}) != tag);
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

TEST_CASE("multicast: a counter is fresh once") {
  ReplayWindow window;
  CHECK_FALSE(window.take(0));
  std::mt19937 random(1);
  std::vector<std::uint64_t> counters;
  for (std::uint64_t i = 1; i <= 3000; ++i) counters.push_back(i);
  std::shuffle(counters.begin(), counters.end(), random);  // 3000 is less than the window, so any order is accepted
  for (const auto counter : counters) CHECK(window.take(counter));
  for (const auto counter : counters) CHECK_FALSE(window.take(counter));
  CHECK(window.take(3000 + ReplayWindow::bits));
  CHECK_FALSE(window.take(3000));     // too far behind
  CHECK(window.take(3001));           // just near enough
  CHECK(window.take(1'000'000'000));  // far ahead: everything before it is forgotten
  CHECK_FALSE(window.take(3002));
  CHECK(window.take(1'000'000'000 - ReplayWindow::bits + 1));
}
