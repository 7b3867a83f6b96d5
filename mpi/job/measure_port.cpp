// SPDX-License-Identifier: Apache-2.0
#include "job/measure_port.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

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

std::vector<int> senders_to_port(const std::vector<int>& node_of_rank) {
  std::map<int, int> ranks_of_node;
  std::vector<std::pair<int, int>> by_turn;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const int node = node_of_rank[rank];
    if (node != node_of_rank.front()) by_turn.emplace_back(ranks_of_node[node]++, static_cast<int>(rank));
  }
  if (ranks_of_node.size() < PortSeries::least_senders) return {};
  std::stable_sort(by_turn.begin(), by_turn.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> senders;
  for (const auto& [turn, rank] : by_turn) senders.push_back(rank);
  senders.resize(std::min<std::size_t>(senders.size(), PortSeries::most_senders));
  return senders;
}

PortRates measure_port(double connection_bytes_per_s, const std::vector<int>& senders) {
  PortSeries series(connection_bytes_per_s, static_cast<int>(senders.size()));
  std::vector<char> buffer;
  for (PortSeries::Senders next = series.next(); next.count > 0; next = series.next()) {
    const auto asked =
        std::span(senders).subspan(static_cast<std::size_t>(next.first), static_cast<std::size_t>(next.count));
    series.add(next.count, receive_trains(asked, series.bytes_of_each(), buffer));
  }
  PortRates rates;
  if (series.bytes_per_s() > 0) {
    // Now that it matters, one connection is measured for longer, since a host lets some bytes pass at once, and then
    // all together once more, since what disturbed them before made the port seem slower.
    RateSeries alone(RateSeries::patient);
    receive_series(alone, senders.front());
    series.add(static_cast<int>(senders.size()), receive_trains(senders, series.bytes_of_each(), buffer));
    rates = {series.bytes_per_s(), alone.bytes_per_s()};
    if (!network::carries_clearly_more(rates.port_bytes_per_s, rates.connection_bytes_per_s)) rates = {};
  }
  for (const int sender : senders) ask_for_train(sender, 0);
  return rates;
}

}  // namespace antiphon::mpi
