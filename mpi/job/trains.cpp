// SPDX-License-Identifier: Apache-2.0
#include "job/trains.hpp"

#include <sched.h>

#include <array>

#include "job/clock.hpp"
#include "job/wait_asleep.hpp"

namespace antiphon::mpi {

using network::RateSeries;

void wait_busily(MPI_Request request) {
  while (!is_done(request)) sched_yield();
}

void ask_for_train(int sender, std::int64_t bytes) {
  PMPI_Send(&bytes, 1, MPI_INT64_T, sender, link_tag, MPI_COMM_WORLD);
}

RateSeries::Arrivals receive_train(int sender, std::int64_t bytes, std::vector<char>& buffer) {
  const auto piece = static_cast<std::size_t>(bytes) / RateSeries::pieces;
  buffer.resize(static_cast<std::size_t>(bytes));
  std::array<MPI_Request, RateSeries::pieces> requests;
  for (std::size_t i = 0; i < requests.size(); ++i)
    PMPI_Irecv(&buffer[i * piece], static_cast<int>(piece), MPI_BYTE, sender, link_tag, MPI_COMM_WORLD, &requests[i]);
  ask_for_train(sender, bytes);
  RateSeries::Arrivals arrivals;
  double looked_s = now_s();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    while (!is_done(requests[i])) {
      looked_s = now_s();
      sched_yield();
    }
    arrivals[i] = {looked_s, now_s()};
  }
  return arrivals;
}

void receive_series(RateSeries& series, int sender) {
  std::vector<char> buffer(RateSeries::most_train_bytes);
  while (const std::int64_t bytes = series.next_bytes()) {
    const double start_s = now_s();
    const RateSeries::Arrivals arrivals = receive_train(sender, bytes, buffer);
    series.add(bytes, arrivals, now_s() - start_s);
  }
}

void send_trains(int receiver) {
  const std::vector<char> buffer(RateSeries::most_train_bytes / RateSeries::pieces);
  for (bool first = true;; first = false) {
    std::int64_t bytes = 0;
    MPI_Request request;
    PMPI_Irecv(&bytes, 1, MPI_INT64_T, receiver, link_tag, MPI_COMM_WORLD, &request);
    // Others may measure until the first one is asked for.
    first ? wait_asleep(request) : wait_busily(request);
    if (bytes == 0) return;
    std::array<MPI_Request, RateSeries::pieces> sends;
    const auto piece = static_cast<int>(bytes / static_cast<std::int64_t>(RateSeries::pieces));
    for (MPI_Request& send : sends)
      PMPI_Isend(buffer.data(), piece, MPI_BYTE, receiver, link_tag, MPI_COMM_WORLD, &send);
    for (MPI_Request& send : sends) wait_busily(send);
  }
}

}  // namespace antiphon::mpi
