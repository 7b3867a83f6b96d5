// SPDX-License-Identifier: Apache-2.0
// Checks what follows from trains of messages over links that a few lines imitate: buckets, slow starts, noise.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "network/rate.hpp"

namespace network = antiphon::network;
using network::RateSeries;

namespace {

constexpr double payload_share = 1448.0 / 1514;

/// A link of some nominal rate. Its bucket lets bytes pass at the speed of memory until it is empty.
struct ImitatedLink {
  double bits_per_s;
  double bucket_bytes = 0;
  double first_window_bytes = 1e12;  ///< that may be under way at first; doubles with each round trip
  double away_s = 0;                 ///< a receiver may have to wait for its core for so long
  std::mt19937 random{1};
  double tokens = bucket_bytes;
  double now_s = 0, filled_s = 0, spent_s = 0;
  std::int64_t sent_bytes = 0;

  void train(RateSeries& series, std::int64_t bytes) {
    constexpr double round_trip_s = 2e-4;
    constexpr double memory_bytes_per_s = 5e9;
    const double rate = bits_per_s / 8 * payload_share;
    const double start_s = now_s += round_trip_s;
    RateSeries::Arrivals arrivals;
    double looked_s = start_s;
    double sees_s = 0;  // It looks no sooner again.
    for (network::Arrival& arrival : arrivals) {
      double left = static_cast<double>(bytes) / static_cast<double>(RateSeries::pieces);
      tokens = std::min(bucket_bytes, tokens + (now_s - filled_s) * rate);
      const double free = std::min(left, tokens);
      tokens -= free;
      left -= free;
      now_s += free / memory_bytes_per_s + std::max(left / rate, 0.0);
      const double window = first_window_bytes * static_cast<double>(1 << std::min<std::int64_t>(30, sent_bytes >> 14));
      if (window < left) now_s += round_trip_s;
      filled_s = now_s;
      sent_bytes += bytes / static_cast<std::int64_t>(RateSeries::pieces);
      if (now_s > sees_s) {
        looked_s = now_s - 1e-6;
        sees_s = now_s;
        if (away_s > 0 && random() % 8 == 0) {
          sees_s = now_s + away_s * std::uniform_real_distribution<double>(0, 1)(random);
          looked_s = now_s - (sees_s - now_s);
        }
      }
      arrival = {std::min(looked_s, now_s), sees_s};
    }
    now_s = std::max(now_s, sees_s);
    series.add(bytes, arrivals, now_s - start_s);
    spent_s = now_s;
  }

  std::int64_t measured() {
    RateSeries series;
    while (const std::int64_t bytes = series.next_bytes()) train(series, bytes);
    return network::rate_of_payload(series.bytes_per_s());
  }
};

constexpr std::int64_t mbit = 1'000'000;

}  // namespace

TEST_CASE("a rate near one of Ethernet's is that rate, another is what was measured") {
  CHECK(network::rate_of_payload(95.2e6 / 8) == 100 * mbit);
  CHECK(network::rate_of_payload(86e6 / 8) == 100 * mbit);
  CHECK(network::rate_of_payload(940e6 / 8) == 1000 * mbit);
  CHECK(network::rate_of_payload(60e6 / 8) == 63 * mbit);
  CHECK(network::rate_of_payload(15.6e9 / 8) == 16'000 * mbit);
  CHECK(network::rate_of_payload(23e9 / 8) == 25'000 * mbit);
  CHECK(network::rate_of_payload(0) == 0);
  CHECK(network::rate_of_payload(1e18) == 0);
  CHECK(network::rate_of_payload(-1) == 0);
}

TEST_CASE("links of every rate are measured right, with few bytes and in little time") {
  for (const std::int64_t rate : {10 * mbit, 100 * mbit, 1000 * mbit, 10'000 * mbit, 100'000 * mbit}) {
    ImitatedLink link{.bits_per_s = static_cast<double>(rate)};
    CAPTURE(rate);
    CHECK(link.measured() == rate);
    CHECK(link.spent_s < (rate < 1000 * mbit ? 0.05 : 0.0101));
    CHECK(link.sent_bytes <= 9 << 20);
  }
}

TEST_CASE("a bucket that is full at first is not taken for the link") {
  for (const double bucket : {8e3, 64e3, 128e3, 256e3, 500e3}) {
    for (const std::int64_t rate : {100 * mbit, 1000 * mbit}) {
      ImitatedLink link{.bits_per_s = static_cast<double>(rate), .bucket_bytes = bucket};
      CAPTURE(bucket);
      CAPTURE(rate);
      CHECK(link.measured() == rate);
      CHECK(link.spent_s < 0.08);
    }
  }
}

TEST_CASE("a slow start and receivers that are late do not hide a rate") {
  ImitatedLink slow_start{.bits_per_s = 1e9, .first_window_bytes = 1024};
  CHECK(slow_start.measured() == 1000 * mbit);
  for (unsigned seed = 1; seed <= 50; ++seed) {
    ImitatedLink noisy{.bits_per_s = 1e8, .bucket_bytes = 8192, .away_s = 3e-3, .random = std::mt19937(seed)};
    CAPTURE(seed);
    CHECK(noisy.measured() == 100 * mbit);
  }
}

namespace {

/// A port, and connections of which each carries no more than its own rate.
struct ImitatedPort {
  double port_bytes_per_s, connection_bytes_per_s;
  double slow_bytes_per_s = 1e12;  ///< of the first sender's own link
  double latency_s = 5e-5;
  int trains = 0;
  double spent_s = 0;

  /// Returns what a receiver finds that took its connection for `seen_bytes_per_s`.
  double measured(double seen_bytes_per_s, int others) {
    network::PortSeries series(seen_bytes_per_s, others);
    for (auto next = series.next(); next.count > 0; next = series.next()) {
      const double rate = std::min(port_bytes_per_s, next.count * connection_bytes_per_s);
      const auto bytes = static_cast<double>(series.bytes_of_each());
      const double of_slow_s = next.first == 0 ? bytes / slow_bytes_per_s : 0;
      const double seconds = latency_s + std::max(next.count * bytes / rate, of_slow_s);
      series.add(next.count, seconds);
      spent_s += seconds;
      REQUIRE(++trains < 20);
    }
    return series.bytes_per_s();
  }
};

}  // namespace

TEST_CASE("several connections show a port that one does not fill") {
  // 100 Mb/s with 25 a connection, 10 Gb/s with 5, 100 with 10: what clouds have, and more.
  for (const auto& rates : {std::pair{12e6, 3e6}, {1.2e9, 0.6e9}, {12e9, 1.2e9}}) {
    const double port = rates.first;
    const double connection = rates.second;
    CAPTURE(port);
    CHECK(ImitatedPort{port, connection}.measured(connection, 15) == doctest::Approx(port).epsilon(0.2));
    CHECK(ImitatedPort{port, connection}.measured(connection, 1) == 0);
    // Two partners say as much as they have connections.
    CHECK(ImitatedPort{port, connection}.measured(connection, 2) == doctest::Approx(2 * connection).epsilon(0.2));
  }
}

TEST_CASE("where one connection fills the port, several cost little time and change nothing") {
  for (const double port : {12e6, 120e6, 1.2e9, 12e9}) {
    CAPTURE(port);
    ImitatedPort filled{port, port};
    CHECK(filled.measured(port, 15) == 0);
    CHECK(filled.spent_s < 20e-3);
    CHECK(filled.trains == 4);
    // A first measurement that was disturbed is repeated in the same way as that of several.
    CHECK(ImitatedPort{port, port}.measured(port / 2, 15) == 0);
  }
  // The pair that was measured had a slow link; the others do not.
  CHECK(ImitatedPort{.port_bytes_per_s = 12e6, .connection_bytes_per_s = 12e6, .slow_bytes_per_s = 3e6}.measured(
            3e6, 15) == 0);
  ImitatedPort modem{1e6, 1e6};
  CHECK(modem.measured(1e6, 15) == 0);
  CHECK(modem.trains == 0);
}

TEST_CASE("one sender that is served at once is not taken for usual, and what disturbed some says little of a port") {
  network::PortSeries series(3e6, 8);
  for (const double rate : {6e6, 3e6, 3.1e6}) {
    REQUIRE(series.next().count == 1);
    series.add(1, static_cast<double>(series.bytes_of_each()) / rate);
  }
  const auto together = [&](int count, double rate) {
    series.add(count, count * static_cast<double>(series.bytes_of_each()) / rate);
  };
  REQUIRE(series.next().count == 3);
  together(3, 9e6);
  CHECK(series.bytes_per_s() == doctest::Approx(9e6));
  together(8, 5e6);
  CHECK(series.bytes_per_s() == doctest::Approx(9e6));
  together(8, 12e6);
  CHECK(series.bytes_per_s() == doctest::Approx(12e6));
  CHECK(network::carries_clearly_more(12e6, 3e6));
  CHECK_FALSE(network::carries_clearly_more(12e6, 9e6));
  CHECK_FALSE(network::carries_clearly_more(12e6, 0));
}

TEST_CASE("a patient series measures a connection that sends in bursts") {
  for (const std::int64_t rate : {10 * mbit, 100 * mbit, 1000 * mbit}) {
    ImitatedLink link{.bits_per_s = static_cast<double>(rate), .bucket_bytes = 16e3};
    RateSeries series(RateSeries::patient);
    while (const std::int64_t bytes = series.next_bytes()) link.train(series, bytes);
    CHECK(network::rate_of_payload(series.bytes_per_s()) == rate);
    CHECK(series.sent_bytes() == link.sent_bytes);
    CHECK(link.spent_s < 0.5);
  }
}

TEST_CASE("pairs are neighbours, none twice, and spread over the nodes") {
  using Pairs = std::vector<std::pair<int, int>>;
  CHECK(network::pairs_to_measure(1, 4).empty());
  CHECK(network::pairs_to_measure(3, 4) == Pairs{{0, 1}});
  CHECK(network::pairs_to_measure(16, 4) == Pairs{{0, 1}, {4, 5}, {8, 9}, {12, 13}});
  CHECK(network::pairs_to_measure(11, 4) == Pairs{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
}

TEST_CASE("one late pair does not slow down all, but a slow link counts for all") {
  CHECK_FALSE(network::one_seems_slow({100, 60, 102}));
  CHECK(network::one_seems_slow({100, 10, 102}));
  CHECK(network::rate_for_all({100, 80, 102, 99}) == 100);
  CHECK(network::rate_for_all({0, 80, 0}) == 80);
  CHECK(network::rate_for_all({100, 10, 102, 99}) == 10);
  CHECK(network::rate_for_all({}) == 0);
}
