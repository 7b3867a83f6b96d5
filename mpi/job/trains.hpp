// SPDX-License-Identifier: Apache-2.0
// Trains of messages, by which MPI_Init measures links: a receiver asks a sender for each.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "network/rate.hpp"

namespace antiphon::mpi {

/// All ranks are still in MPI_Init, so no receive of the program can take these messages.
inline constexpr int link_tag = 27183;

/// Polls, for those that measure; others call wait_asleep().
void wait_busily(MPI_Request request);

/// Asks for a train of RateSeries::pieces messages, `bytes` long in all; 0 lets the sender go.
void ask_for_train(int sender, std::int64_t bytes);
/// Asks for a train, and returns when each of its pieces came.
network::RateSeries::Arrivals receive_train(int sender, std::int64_t bytes, std::vector<char>& buffer);
/// Asks for trains until the series knows enough.
void receive_series(network::RateSeries& series, int sender);
/// Sends trains until none is asked for.
void send_trains(int receiver);

}  // namespace antiphon::mpi
