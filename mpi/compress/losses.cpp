// SPDX-License-Identifier: Apache-2.0
#include "compress/losses.hpp"

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "compress/framing.hpp"
#include "compress/mark.hpp"
#include "job/progress_hook.hpp"

namespace antiphon::mpi {

namespace {

std::mutex losses_mutex;
std::set<int> told;       // processes that know of a loss here
std::set<int> have_lost;  // processes that have reported a loss

/// Receives the news that are here; such a message carries nothing but its sender. No lock is held while the library
/// runs, since its progress may send messages that are held, and so come here again.
void look_for_news() {
  while (!progress_hook::forbids_progress()) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    const int code = PMPI_Improbe(MPI_ANY_SOURCE, loss_tag, framing_state.side, &found, &message, &status);
    if (code != MPI_SUCCESS || found == 0) return;
    PMPI_Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    const std::lock_guard lock(losses_mutex);
    have_lost.insert(status.MPI_SOURCE);
  }
}

bool is_first_loss(int world_rank) {
  const std::lock_guard lock(losses_mutex);
  return told.insert(world_rank).second;
}

}  // namespace

void report_loss(int world_rank) {
  if (!is_first_loss(world_rank)) return;
  // The message has no data, so that it is complete at once, whatever the other process does.
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Isend(nullptr, 0, MPI_BYTE, world_rank, loss_tag, framing_state.side, &request) == MPI_SUCCESS)
    PMPI_Request_free(&request);
}

bool has_reported_loss(int world_rank) {
  look_for_news();
  const std::lock_guard lock(losses_mutex);
  return have_lost.count(world_rank) != 0;
}

void receive_last_news() {
  const std::lock_guard lock(losses_mutex);
  int some = told.empty() ? 0 : 1;
  PMPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_MAX, framing_state.side);
  if (some == 0) return;
  int ranks = 0;
  PMPI_Comm_size(framing_state.side, &ranks);
  std::vector<int> sent(static_cast<std::size_t>(ranks));
  for (const int rank : told) sent[static_cast<std::size_t>(rank)] = 1;
  int coming = 0;
  int code = PMPI_Reduce_scatter_block(sent.data(), &coming, 1, MPI_INT, MPI_SUM, framing_state.side);
  while (code == MPI_SUCCESS && have_lost.size() < static_cast<std::size_t>(coming)) {
    MPI_Status status;
    code = PMPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, loss_tag, framing_state.side, &status);
    if (code == MPI_SUCCESS) have_lost.insert(status.MPI_SOURCE);
  }
}

void forget_losses() {
  const std::lock_guard lock(losses_mutex);
  told.clear();
  have_lost.clear();
}

}  // namespace antiphon::mpi
