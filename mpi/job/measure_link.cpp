// SPDX-License-Identifier: Apache-2.0
#include "job/measure_link.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>

#include "job/clock.hpp"
#include "job/measure_port.hpp"
#include "job/trains.hpp"
#include "job/wait_asleep.hpp"
#include "network/rate.hpp"

namespace antiphon::mpi {

namespace {

using network::RateSeries;

/// Pairs at the same time: enough to see what is usual, and few enough for what switches and emulated nodes share.
constexpr int most_pairs = 3;
constexpr int most_rounds = 2;
constexpr double again = -1;

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
  std::vector<double> best;
  double verdict = again;
  while (verdict == again) {
    RateSeries series;
    receive_series(series, sender);
    found.received_bytes += series.sent_bytes();
    found.messages += static_cast<std::int64_t>(series.trains() * (RateSeries::pieces + 1));
    verdict = judge(series.bytes_per_s(), best, receivers, ++found.rounds == most_rounds);
  }
  ask_for_train(sender, 0);
  found.payload_bytes_per_s = verdict;
  found.bits_per_s = network::rate_of_payload(verdict);
  ++found.messages;
  found.seconds = now_s() - start_s;
  return found;
}

/// Measures what several connections to rank 0's node carry together, and notes it where it is clearly more than one.
void add_port(MeasuredLink& found, const std::vector<int>& senders) {
  const double start_s = now_s();
  const PortRates rates = measure_port(found.payload_bytes_per_s, senders);
  found.seconds += now_s() - start_s;
  if (rates.port_bytes_per_s == 0) return;
  found.connection_bits_per_s = network::rate_of_payload(rates.connection_bytes_per_s);
  found.bits_per_s = network::rate_of_payload(rates.port_bytes_per_s);
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
  const std::vector<int> others = senders_to_port(node_of_rank);
  if (rank == leaders.front()) add_port(found, others);
  else if (std::find(others.begin(), others.end(), rank) != others.end()) send_trains(leaders.front());
  const auto told = sleep_until_told({found.bits_per_s, found.connection_bits_per_s});
  found.bits_per_s = told[0];
  found.connection_bits_per_s = told[1];
  return found;
}

}  // namespace antiphon::mpi
