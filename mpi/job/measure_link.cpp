// SPDX-License-Identifier: Apache-2.0
#include "job/measure_link.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>

#include "job/clock.hpp"
#include "job/measure_port.hpp"
#include "job/trains.hpp"
#include "network/rate.hpp"

namespace antiphon::mpi {

namespace {

using network::RateSeries;

/// Pairs at the same time: enough to see what is usual, and few enough for what switches and emulated nodes share.
constexpr int most_pairs = 3;
constexpr int most_rounds = 2;
constexpr double again = -1;

/// The node that asks another for trains of messages, and watches them come in.
class Receiver {
 public:
  explicit Receiver(int sender) : sender_(sender), buffer_(RateSeries::most_train_bytes) {}

  double measure() {
    RateSeries series;
    while (const std::int64_t bytes = series.next_bytes()) receive_train(series, bytes);
    return series.bytes_per_s();
  }

  /// Lets the sender go.
  void end() { ask_for(0); }

  std::int64_t received_bytes = 0, messages = 0;

 private:
  void ask_for(std::int64_t bytes) {
    ask_for_train(sender_, bytes);
    ++messages;
  }

  void receive_train(RateSeries& series, std::int64_t bytes) {
    const auto piece = static_cast<std::size_t>(bytes) / RateSeries::pieces;
    std::array<MPI_Request, RateSeries::pieces> requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      PMPI_Irecv(&buffer_[i * piece], static_cast<int>(piece), MPI_BYTE, sender_, link_tag, MPI_COMM_WORLD,
                 &requests[i]);
    }
    const double start_s = now_s();
    ask_for(bytes);
    RateSeries::Arrivals arrivals;
    double looked_s = now_s();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      while (!is_done(requests[i])) {
        looked_s = now_s();
        sched_yield();
      }
      arrivals[i] = {looked_s, now_s()};
    }
    series.add(bytes, arrivals, now_s() - start_s);
    received_bytes += bytes;
    messages += RateSeries::pieces;
  }

  int sender_;
  std::vector<char> buffer_;
};

/// Returns the first rank of each node, in the order of nodes.
std::vector<int> leaders_of(const std::vector<int>& node_of_rank) {
  std::vector<int> leaders;
  for (std::size_t r = 0; r < node_of_rank.size(); ++r) {
    if (node_of_rank[r] == static_cast<int>(r)) leaders.push_back(static_cast<int>(r));
  }
  return leaders;
}

/// Hands a receiver's measurement to rank 0, one of them. Returns what that makes of all: the rate, or `again`.
double judge(double own, std::vector<double>& best, const std::vector<int>& receivers, bool last_round) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double verdict = 0;
  MPI_Request request;
  if (rank != 0) {
    PMPI_Send(&own, 1, MPI_DOUBLE, 0, link_tag, MPI_COMM_WORLD);
    PMPI_Irecv(&verdict, 1, MPI_DOUBLE, 0, link_tag, MPI_COMM_WORLD, &request);
    wait_asleep(request);
    return verdict;
  }
  best.resize(receivers.size(), 0);
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    double value = own;
    if (receivers[i] != 0) {
      PMPI_Irecv(&value, 1, MPI_DOUBLE, receivers[i], link_tag, MPI_COMM_WORLD, &request);
      wait_asleep(request);
    }
    best[i] = std::max(best[i], value);
  }
  verdict = network::one_seems_slow(best) && !last_round ? again : network::rate_for_all(best);
  for (const int other : receivers) {
    if (other != 0) PMPI_Send(&verdict, 1, MPI_DOUBLE, other, link_tag, MPI_COMM_WORLD);
  }
  return verdict;
}

/// Measures, on a receiver.
MeasuredLink measure_from(int sender, const std::vector<int>& receivers) {
  MeasuredLink found{.pairs = static_cast<int>(receivers.size())};
  const double start_s = now_s();
  Receiver receiver(sender);
  std::vector<double> best;
  double verdict = again;
  while (verdict == again) {
    const double own = receiver.measure();
    verdict = judge(own, best, receivers, ++found.rounds == most_rounds);
  }
  receiver.end();
  found.payload_bytes_per_s = verdict;
  found.bits_per_s = network::rate_of_payload(verdict);
  found.received_bytes = receiver.received_bytes;
  found.messages = receiver.messages;
  found.seconds = now_s() - start_s;
  return found;
}

/// Measures what several connections to rank 0's node carry together, and notes it where it is clearly more than one.
void add_port(MeasuredLink& found, const std::vector<int>& senders) {
  const double start_s = now_s();
  const double port = measure_port(found.payload_bytes_per_s, senders);
  found.seconds += now_s() - start_s;
  const std::int64_t bits_per_s = network::rate_of_payload(port);
  if (bits_per_s <= found.bits_per_s) return;
  found.connection_bits_per_s = found.bits_per_s;
  found.bits_per_s = bits_per_s;
}

/// Returns rank 0's rates on every rank.
std::array<std::int64_t, 2> sleep_until_told(std::array<std::int64_t, 2> rates) {
  MPI_Request request;
  PMPI_Ibcast(rates.data(), 2, MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
  wait_asleep(request);
  return rates;
}

}  // namespace

MeasuredLink measure_link(const std::vector<int>& node_of_rank) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<int> leaders = leaders_of(node_of_rank);
  std::vector<int> receivers, senders;
  for (const auto& [a, b] : network::pairs_to_measure(static_cast<int>(leaders.size()), most_pairs)) {
    receivers.push_back(leaders[static_cast<std::size_t>(a)]);
    senders.push_back(leaders[static_cast<std::size_t>(b)]);
  }
  MeasuredLink found;
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    if (rank == receivers[i]) found = measure_from(senders[i], receivers);
    if (rank == senders[i]) send_trains(receivers[i]);
  }
  const std::vector<int> others = senders_to_port(leaders);
  if (rank == leaders.front()) add_port(found, others);
  else if (std::find(others.begin(), others.end(), rank) != others.end()) send_trains(leaders.front());
  const auto told = sleep_until_told({found.bits_per_s, found.connection_bits_per_s});
  found.bits_per_s = told[0];
  found.connection_bits_per_s = told[1];
  return found;
}

}  // namespace antiphon::mpi
