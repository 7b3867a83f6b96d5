// SPDX-License-Identifier: Apache-2.0
#include "job/measure_link.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "antiphon/profile.hpp"
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
/// So many send to one at once, which shows whether one connection fills a link; they carry clearly more if it does
/// not.
constexpr std::size_t most_senders = 4;
constexpr double clearly_more = 1.3;
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

/// What is asked of a sender: so many messages of so many bytes; none: it may go.
struct Asked {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

/// The node that asks others for trains of messages, of which each sends its part, and watches them come in.
class Receiver {
 public:
  /// No train has more than `most_bytes`.
  explicit Receiver(std::vector<int> senders, std::int64_t most_bytes = RateSeries::most_train_bytes)
      : senders_(std::move(senders)), most_bytes_(most_bytes), buffer_(RateSeries::most_train_bytes) {}

  double measure() {
    RateSeries series;
    while (const std::int64_t bytes = series.next_bytes()) receive_train(series, std::min(bytes, most_bytes_));
    return series.bytes_per_s();
  }

  /// Lets the senders go.
  void end() { ask_for(0); }

  std::int64_t received_bytes = 0, messages = 0;

 private:
  void ask_for(std::int64_t piece_bytes) {
    for (std::size_t i = 0; i < senders_.size(); ++i) {
      Asked asked;
      for (std::size_t piece = i; piece_bytes > 0 && piece < RateSeries::pieces; piece += senders_.size())
        ++asked.messages;
      asked.bytes = piece_bytes;
      PMPI_Send(&asked, sizeof asked, MPI_BYTE, senders_[i], link_tag, MPI_COMM_WORLD);
      ++messages;
    }
  }

  void receive_train(RateSeries& series, std::int64_t bytes) {
    const auto piece = static_cast<std::size_t>(bytes) / RateSeries::pieces;
    std::array<MPI_Request, RateSeries::pieces> requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      PMPI_Irecv(&buffer_[i * piece], static_cast<int>(piece), MPI_BYTE, senders_[i % senders_.size()], link_tag,
                 MPI_COMM_WORLD, &requests[i]);
    }
    const double start_s = now_s();
    ask_for(static_cast<std::int64_t>(piece));
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

  std::vector<int> senders_;
  std::int64_t most_bytes_;
  std::vector<char> buffer_;
};

/// Sends trains until none is asked for. It may be long until the first one is.
void send_trains(int receiver, bool waits_asleep = false) {
  const std::vector<char> buffer(RateSeries::most_train_bytes / RateSeries::pieces);
  while (true) {
    Asked asked;
    MPI_Request request;
    PMPI_Irecv(&asked, sizeof asked, MPI_BYTE, receiver, link_tag, MPI_COMM_WORLD, &request);
    waits_asleep ? wait_asleep(request) : wait_busily(request);
    waits_asleep = false;
    if (asked.messages == 0) return;
    std::vector<MPI_Request> sends(static_cast<std::size_t>(asked.messages));
    for (MPI_Request& send : sends)
      PMPI_Isend(buffer.data(), static_cast<int>(asked.bytes), MPI_BYTE, receiver, link_tag, MPI_COMM_WORLD, &send);
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
  Receiver receiver({sender});
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

/// Measures, on the first of these nodes' leaders, what several others send it at once; the others send. They send no
/// more than a port usually holds beside what `one_bits_per_s` of a connection are, so that nothing is lost.
double measure_several(const std::vector<int>& leaders, int rank, std::int64_t one_bits_per_s) {
  const auto count = std::min(leaders.size() - 1, most_senders);
  const std::vector<int> senders(leaders.begin() + 1, leaders.begin() + 1 + static_cast<std::ptrdiff_t>(count));
  if (rank == leaders[0]) {
    const std::int64_t credit = Profile::guessed_credit_bytes(static_cast<double>(one_bits_per_s));
    constexpr auto unit = static_cast<std::int64_t>(RateSeries::pieces) * 1024;
    Receiver receiver(senders, std::min(credit / unit * unit, RateSeries::most_train_bytes));
    const double bytes_per_s = receiver.measure();
    receiver.end();
    return bytes_per_s;
  }
  if (std::find(senders.begin(), senders.end(), rank) != senders.end()) send_trains(leaders[0], true);
  return 0;
}

/// Takes over what several connections carry, if that is clearly more than one does.
void take_several(MeasuredLink& found, double bytes_per_s) {
  const std::int64_t several = network::rate_of_payload(bytes_per_s);
  if (found.bits_per_s == 0 || static_cast<double>(several) < clearly_more * static_cast<double>(found.bits_per_s))
    return;
  found.connection_bits_per_s = found.bits_per_s;
  found.bits_per_s = several;
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
  // Rank 0 leads the first node, and has measured.
  if (leaders.size() > 2) {
    const double several = measure_several(leaders, rank, found.bits_per_s);
    if (rank == 0) take_several(found, several);
  }
  found.bits_per_s = sleep_until_told(found.bits_per_s);
  found.connection_bits_per_s = sleep_until_told(found.connection_bits_per_s);
  return found;
}

}  // namespace antiphon::mpi
