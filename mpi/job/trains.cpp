// SPDX-License-Identifier: Apache-2.0
#include "job/trains.hpp"

#include <sched.h>

#include <array>
#include <ctime>
#include <vector>

#include "network/rate.hpp"

namespace antiphon::mpi {

namespace {

using network::RateSeries;

constexpr long nap_ns = 200'000;

}  // namespace

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

void ask_for_train(int sender, std::int64_t bytes) {
  PMPI_Send(&bytes, 1, MPI_INT64_T, sender, link_tag, MPI_COMM_WORLD);
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
