// SPDX-License-Identifier: Apache-2.0
#include "job/measure_link.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "job/clock.hpp"
#include "network/rate.hpp"

namespace antiphon::mpi {

namespace {

using network::RateSeries;

/// All ranks are still in MPI_Init, so no receive of the program can take these messages.
constexpr int link_tag = 27183;
/// Pairs at the same time: enough to see what is usual, and few enough for what switches and emulated nodes share.
constexpr int most_pairs = 4;
constexpr int most_rounds = 2;
/// Ranks that only wait sleep, so that they take no turns from those that measure.
constexpr long nap_ns = 200'000;
constexpr double again = -1;

bool is_done(MPI_Request& request) {
  int done = 0;
  PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

void wait_busily(MPI_Request& request) {
  while (!is_done(request)) sched_yield();
}

/// One of two nodes that send to each other at the same time.
class Peer {
 public:
  explicit Peer(int rank) : rank_(rank), received_(RateSeries::most_train_bytes), sent_(RateSeries::most_train_bytes) {}

  /// Returns the rate at which the other's messages come in.
  double measure() {
    RateSeries series;
    while (const std::int64_t bytes = agree_on(series.next_bytes())) run_train(series, bytes);
    return series.bytes_per_s();
  }

  std::int64_t sent_bytes = 0, sent_messages = 0;

 private:
  /// Returns the longer of both sides' wishes. When it returns, both sides have come here.
  std::int64_t agree_on(std::int64_t wanted) {
    std::int64_t other = 0;
    MPI_Request requests[2];
    PMPI_Irecv(&other, 1, MPI_INT64_T, rank_, link_tag, MPI_COMM_WORLD, &requests[0]);
    PMPI_Isend(&wanted, 1, MPI_INT64_T, rank_, link_tag, MPI_COMM_WORLD, &requests[1]);
    for (MPI_Request& request : requests) wait_busily(request);
    ++sent_messages;
    return std::max(wanted, other);
  }

  void run_train(RateSeries& series, std::int64_t bytes) {
    const std::int64_t piece = bytes / RateSeries::pieces;
    const auto count = static_cast<int>(piece);
    std::array<MPI_Request, RateSeries::pieces> in, out;
    const double start_s = now_s();
    for (std::size_t i = 0; i < in.size(); ++i)
      PMPI_Irecv(&received_[i * static_cast<std::size_t>(piece)], count, MPI_BYTE, rank_, link_tag, MPI_COMM_WORLD,
                 &in[i]);
    for (std::size_t i = 0; i < out.size(); ++i)
      PMPI_Isend(&sent_[i * static_cast<std::size_t>(piece)], count, MPI_BYTE, rank_, link_tag, MPI_COMM_WORLD,
                 &out[i]);
    double counted_from_s = start_s;
    for (int i = 0; i < RateSeries::pieces; ++i) {
      wait_busily(in[static_cast<std::size_t>(i)]);
      if (i < RateSeries::skipped_pieces) counted_from_s = now_s();
    }
    const double end_s = now_s();
    for (MPI_Request& request : out) wait_busily(request);
    series.add(bytes, end_s - counted_from_s, end_s - start_s);
    sent_bytes += bytes;
    sent_messages += RateSeries::pieces;
  }

  int rank_;
  std::vector<char> received_, sent_;
};

/// Returns the first rank of each node, in the order of nodes.
std::vector<int> leaders_of(const std::vector<int>& node_of_rank) {
  std::vector<int> leaders;
  for (std::size_t r = 0; r < node_of_rank.size(); ++r) {
    if (node_of_rank[r] == static_cast<int>(r)) leaders.push_back(static_cast<int>(r));
  }
  return leaders;
}

/// Hands this rank's measurement to rank 0. Returns what that makes of all: the rate, or `again`.
double judge(double own, std::vector<double>& best, const std::vector<int>& measuring, bool last_round) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double verdict = 0;
  if (rank != 0) {
    PMPI_Send(&own, 1, MPI_DOUBLE, 0, link_tag, MPI_COMM_WORLD);
    PMPI_Recv(&verdict, 1, MPI_DOUBLE, 0, link_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return verdict;
  }
  best.resize(measuring.size(), 0);
  for (std::size_t i = 0; i < measuring.size(); ++i) {
    double value = own;
    if (measuring[i] != 0) PMPI_Recv(&value, 1, MPI_DOUBLE, measuring[i], link_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    best[i] = std::max(best[i], value);
  }
  verdict = network::is_spread(best) && !last_round ? again : network::rate_for_all(best);
  for (const int other : measuring) {
    if (other != 0) PMPI_Send(&verdict, 1, MPI_DOUBLE, other, link_tag, MPI_COMM_WORLD);
  }
  return verdict;
}

/// Returns rank 0's value on every rank.
std::int64_t sleep_until_told(std::int64_t value) {
  MPI_Request request;
  PMPI_Ibcast(&value, 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
  while (!is_done(request)) {
    const timespec nap{0, nap_ns};
    nanosleep(&nap, nullptr);
  }
  return value;
}

}  // namespace

MeasuredLink measure_link(const std::vector<int>& node_of_rank) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<int> leaders = leaders_of(node_of_rank);
  const auto pairs = network::pairs_to_measure(static_cast<int>(leaders.size()), most_pairs);
  MeasuredLink found{.pairs = static_cast<int>(pairs.size())};
  std::vector<int> measuring;
  int peer_rank = -1;
  for (const auto& [a, b] : pairs) {
    const int first = leaders[static_cast<std::size_t>(a)];
    const int second = leaders[static_cast<std::size_t>(b)];
    measuring.insert(measuring.end(), {first, second});
    if (rank == first || rank == second) peer_rank = rank == first ? second : first;
  }
  if (peer_rank >= 0) {
    const double start_s = now_s();
    Peer peer(peer_rank);
    std::vector<double> best;
    double verdict = again;
    while (verdict == again) {
      const double own = peer.measure();
      verdict = judge(own, best, measuring, ++found.rounds == most_rounds);
    }
    found.bits_per_s = network::rate_of_payload(verdict);
    found.sent_bytes = peer.sent_bytes;
    found.sent_messages = peer.sent_messages;
    found.seconds = now_s() - start_s;
  }
  found.bits_per_s = sleep_until_told(found.bits_per_s);
  return found;
}

}  // namespace antiphon::mpi
