// SPDX-License-Identifier: Apache-2.0
// What the rate of nodes' links follows from, where the system does not say it: a few trains of messages between a few
// pairs of nodes. Everything here is arithmetic; mpi/job/measure_link.cpp sends the messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace antiphon::network {

/// Returns the rate of a link that carries so many payload bytes a second: that of a kind of Ethernet if it is within
/// 15 % of one, else what was measured, with two digits. Returns 0 for what no link can be.
std::int64_t rate_of_payload(double payload_bytes_per_s);

/// Decides how much is sent between two nodes, and says what follows from it. Each train of messages is about twice as
/// long as the one before, until two in succession agree: then neither TCP's slow start nor a token bucket that is full
/// at first can be what was measured. A train's time runs from the arrival of its first quarter to that of its end, so
/// that latency, and what a bucket saved up between two trains, do not count.
class RateSeries {
 public:
  static constexpr int pieces = 8;                           ///< messages of a train, all of the same length
  static constexpr int skipped_pieces = 2;                   ///< whose arrival does not count
  static constexpr std::int64_t most_train_bytes = 1 << 20;  ///< for the receiver's memory

  /// Returns the length of the next train; 0: enough is known.
  [[nodiscard]] std::int64_t next_bytes() const;
  /// Takes what a train showed: the time in which all but its first pieces arrived, and its whole time.
  void add(std::int64_t train_bytes, double counted_s, double whole_s);
  /// Returns the rate of payload: of the last two trains where these agree, else of the last one.
  [[nodiscard]] double bytes_per_s() const;

 private:
  struct Train {
    std::int64_t bytes;
    double counted_s;
  };
  [[nodiscard]] static double rate_of(const Train& train);
  [[nodiscard]] bool last_two_agree() const;

  std::vector<Train> trains_;
  std::int64_t sent_bytes_ = 0;
  double elapsed_s_ = 0;
};

/// Returns pairs of neighbours, none of them twice: at most `most_pairs`, spread over `nodes`.
std::vector<std::pair<int, int>> pairs_to_measure(int nodes, int most_pairs);

/// Tells whether measurements differ by so much that another round is due: noise makes some of them too slow.
bool is_spread(std::span<const double> bytes_per_s);

/// Returns what holds for all links: the usual rate or, where some are much slower, that of the slowest.
double rate_for_all(std::vector<double> bytes_per_s);

}  // namespace antiphon::network
