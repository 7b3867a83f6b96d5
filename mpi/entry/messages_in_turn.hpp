// SPDX-License-Identifier: Apache-2.0
// A program that exchanges messages between all ranks by MPI_Isend often sends to rank 0 first, on every rank. Where it
// does so again and again, its messages go in turn (docs/concepts/messages-in-turn.md).
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Watches messages from now on, where another order could be of use.
void start_messages_in_turn();
/// Sends what is held; called before the end of MPI.
void send_held_messages();
/// Ends all of it.
void stop_messages_in_turn();

/// Returns the summary's sums over all ranks, at rank 0; null if nothing was held. Collective over MPI_COMM_WORLD.
Json in_turn_row();
void print_in_turn(std::FILE* out, const Json& row);

}  // namespace antiphon::mpi
