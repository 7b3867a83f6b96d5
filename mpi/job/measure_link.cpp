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
constexpr int most_pairs = 3;
constexpr int most_rounds = 2;
/// Ranks that only wait sleep, so that they take no turns from those that measure.
constexpr long nap_ns = 200'000;
constexpr double again = -1;

bool is_done(MPI_Request& request) {
  int done = 0;
  PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

void wait_busily(MPI_Request request) {
  while (!is_done(request)) sched_yield();
}

void wait_asleep(MPI_Request request) {
  while (!is_done(request)) {
    const timespec nap{0, nap_ns};
    nanosleep(&nap, nullptr);
  }
}

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
    PMPI_Send(&bytes, 1, MPI_INT64_T, sender_, link_tag, MPI_COMM_WORLD);
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

/// Sends trains until none is asked for.
void send_trains(int receiver) {
  const std::vector<char> buffer(RateSeries::most_train_bytes / RateSeries::pieces);
  while (true) {
    std::int64_t bytes = 0;
    MPI_Request request;
    PMPI_Irecv(&bytes, 1, MPI_INT64_T, receiver, link_tag, MPI_COMM_WORLD, &request);
    wait_busily(request);
    if (bytes == 0) return;
    std::array<MPI_Request, RateSeries::pieces> sends;
    const auto piece = static_cast<int>(bytes / static_cast<std::int64_t>(RateSeries::pieces));
    for (MPI_Request& send : sends)
      PMPI_Isend(buffer.data(), piece, MPI_BYTE, receiver, link_tag, MPI_COMM_WORLD, &send);
    for (MPI_Request& send : sends) wait_busily(send);
  }
}

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
  found.bits_per_s = network::rate_of_payload(verdict);
  found.received_bytes = receiver.received_bytes;
  found.messages = receiver.messages;
  found.seconds = now_s() - start_s;
  return found;
}

/// Returns rank 0's value on every rank.
std::int64_t sleep_until_told(std::int64_t value) {
  MPI_Request request;
  PMPI_Ibcast(&value, 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
  wait_asleep(request);
  return value;
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
  found.bits_per_s = sleep_until_told(found.bits_per_s);
  return found;
}

}  // namespace antiphon::mpi
