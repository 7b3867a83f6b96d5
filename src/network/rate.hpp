// SPDX-License-Identifier: Apache-2.0
// What the rate of nodes' links follows from, where the system does not say it: a few trains of messages between a few
// pairs of nodes. Everything here is arithmetic; mpi/job/measure_link.cpp sends the messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace antiphon::network {

/// Returns the rate of a link that carries so many payload bytes a second: that of a kind of Ethernet if it is within
/// 15 % of one, else what was measured, with two digits. Returns 0 for what no link can be.
std::int64_t rate_of_payload(double payload_bytes_per_s);

/// When a piece of a train came: after the receiver last looked in vain, and before it saw the piece.
struct Arrival {
  double not_before_s = 0, seen_s = 0;
};

/// Decides how much is sent from one node to another, and says what follows from it. Each train of messages is about
/// twice as long as the one before, until two in succession agree: then neither TCP's slow start nor a token bucket
/// that is full at first can be what was measured. A train's first pieces do not count, so that latency, and what a
/// bucket saved up between two trains, do not either. Of the others, two count that were seen soon after they came: a
/// receiver that has to wait for its core sees many at once, and would take the link for much faster than it is.
class RateSeries {
 public:
  static constexpr std::size_t pieces = 16;                  ///< messages of a train, all of the same length
  static constexpr std::int64_t most_train_bytes = 1 << 20;  ///< for the receiver's memory
  using Arrivals = std::array<Arrival, pieces>;

  /// How long a train is, for how long a series lasts at least, and after how long it ends as it is.
  struct Patience {
    double train_s, enough_s, most_s;
  };
  /// A train is long beside a turn of a busy core, and MPI_Init waits for the series.
  static constexpr Patience quick{10e-3, 5e-3, 25e-3};
  static constexpr Patience patient{50e-3, 60e-3, 200e-3};

  RateSeries() : RateSeries(quick) {}
  explicit RateSeries(const Patience& patience) : patience_(patience) {}

  /// Returns the length of the next train; 0: enough is known.
  [[nodiscard]] std::int64_t next_bytes() const;
  /// Takes what a train showed, and the time from its request to its end.
  void add(std::int64_t train_bytes, const Arrivals& arrivals, double whole_s);
  /// Returns the rate of payload: of the last two trains where these agree, else of the last one that says anything.
  [[nodiscard]] double bytes_per_s() const;
  [[nodiscard]] std::int64_t sent_bytes() const { return sent_bytes_; }
  [[nodiscard]] int trains() const { return trains_; }

 private:
  [[nodiscard]] bool last_two_agree() const;

  Patience patience_;
  int trains_ = 0;
  std::int64_t last_bytes_ = 0;
  std::vector<double> rates_;  ///< of trains that say anything
  std::int64_t sent_bytes_ = 0;
  double elapsed_s_ = 0;
};

/// Tells whether several connections carry so much more than one that it does not fill the port.
bool carries_clearly_more(double together_bytes_per_s, double one_bytes_per_s);

/// Decides which nodes send to one at the same time, and says what its port carries. Hosts of clouds often let one
/// connection have a part of the port only. Some senders come alone first: what is usual among them
/// counts, and all are measured in the same way.
class PortSeries {
 public:
  static constexpr int least_senders = 2, few_senders = 3, some_senders = 8, most_senders = 16;
  struct Senders {
    int first = 0, count = 0;
  };

  PortSeries(double connection_bytes_per_s, int others) : connection_(connection_bytes_per_s), others_(others) {}

  /// Returns who sends next; a count of 0: enough is known.
  [[nodiscard]] Senders next() const;
  /// Returns how much each of them sends.
  [[nodiscard]] std::int64_t bytes_of_each() const;
  /// Takes what they needed, from being asked to the last piece.
  void add(int count, double seconds);
  /// Returns the rate of payload of the port; 0 where several connections bring hardly more than one.
  [[nodiscard]] double bytes_per_s() const;

 private:
  double connection_;
  int others_;
  std::vector<double> alone_;  ///< bytes a second of senders that were measured so
  int senders_ = 0, turns_ = 0;
  double most_ = 0;  ///< bytes a second with so many senders
};

/// Returns pairs of neighbours, none of them twice: at most `most_pairs`, spread over `nodes`.
std::vector<std::pair<int, int>> pairs_to_measure(int nodes, int most_pairs);

/// Tells whether some link seems much slower than is usual, which another measurement should confirm.
bool one_seems_slow(std::vector<double> bytes_per_s);

/// Returns what holds for all links: the usual rate or, where some are much slower, that of the slowest. Links of which
/// nothing is known do not count; 0 where there is no other.
double rate_for_all(std::vector<double> bytes_per_s);

}  // namespace antiphon::network
