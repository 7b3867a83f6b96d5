// SPDX-License-Identifier: Apache-2.0
#include "job/measure_port.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "job/clock.hpp"
#include "job/trains.hpp"
#include "network/rate.hpp"

namespace antiphon::mpi {

namespace {

using network::PortSeries;
using network::RateSeries;

/// Receives a train from each sender at the same time. Returns the seconds from asking to the last piece.
double receive_trains(std::span<const int> senders, std::int64_t bytes, std::vector<char>& buffer) {
  const auto piece = static_cast<std::size_t>(bytes) / RateSeries::pieces;
  std::vector<MPI_Request> requests(senders.size() * RateSeries::pieces);
  buffer.resize(requests.size() * piece);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    PMPI_Irecv(&buffer[i * piece], static_cast<int>(piece), MPI_BYTE, senders[i / RateSeries::pieces], link_tag,
               MPI_COMM_WORLD, &requests[i]);
  }
  const double start_s = now_s();
  for (const int sender : senders) ask_for_train(sender, bytes);
  for (const MPI_Request request : requests) wait_busily(request);
  return now_s() - start_s;
}

}  // namespace

std::vector<int> senders_to_port(const std::vector<int>& leaders) {
  if (leaders.size() <= PortSeries::least_senders) return {};
  const auto count = std::min<std::size_t>(leaders.size() - 1, PortSeries::most_senders);
  return {leaders.begin() + 1, leaders.begin() + 1 + static_cast<std::ptrdiff_t>(count)};
}

double measure_port(double connection_bytes_per_s, const std::vector<int>& senders) {
  PortSeries series(connection_bytes_per_s, static_cast<int>(senders.size()));
  std::vector<char> buffer;
  for (PortSeries::Senders next = series.next(); next.count > 0; next = series.next()) {
    const auto asked =
        std::span(senders).subspan(static_cast<std::size_t>(next.first), static_cast<std::size_t>(next.count));
    series.add(next.count, receive_trains(asked, series.bytes_of_each(), buffer));
  }
  for (const int sender : senders) ask_for_train(sender, 0);
  return series.bytes_per_s();
}

}  // namespace antiphon::mpi
