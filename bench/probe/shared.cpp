// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <memory>

#include "experiments.hpp"
#include "run/node_memory_set_up.hpp"

namespace probe {

namespace {

using antiphon::mpi::NodeMemory;

/// Sets up the memory of a node's ranks; null if they have none. Collective.
std::unique_ptr<NodeMemory> set_up(MPI_Comm comm, int rank, const std::vector<int>& nodes, std::size_t fetched_bytes) {
  antiphon::mpi::NodeMemorySetUp set_up(comm, rank, nodes, fetched_bytes);
  while (!set_up.advance()) sched_yield();
  return set_up.take();
}

/// One of a pair, and how it waits for the other through shared memory.
struct Side {
  antiphon::shm::Messenger& messenger;
  int peer;

  void move(char* data, std::int64_t bytes, bool sends) const {
    antiphon::shm::Transfer transfer;
    transfer.peer = peer;
    transfer.at = reinterpret_cast<std::byte*>(data);
    transfer.bytes = static_cast<std::size_t>(bytes);
    sends ? messenger.send(transfer) : messenger.receive(transfer);
    while (!transfer.done.load(std::memory_order_acquire)) {
      messenger.look();
      if (!transfer.done.load(std::memory_order_acquire)) sched_yield();
    }
  }
};

/// Makes round trips of m bytes there and none back; returns each one's time on the first of the pair, else none.
std::vector<double> shared_trips(World& world, const Side& side, bool first, std::int64_t bytes, int reps) {
  char* const data = first ? world.out(bytes) : world.in(bytes);
  std::vector<double> times;
  for (int i = 0; i < reps; ++i) {
    const double start = now_ns();
    side.move(data, bytes, first);
    side.move(data, 0, !first);
    if (first) times.push_back(now_ns() - start);
  }
  return times;
}

}  // namespace

/// Measures messages through shared memory: round trips of each of `sizes` there and 0 bytes back, by the `pairs` of
/// ranks on one node, all at once, copied through the ring and, where that is possible, fetched with one copy. `nodes`
/// has the node of each rank. Prints all samples for each size and way. reps: round trips of each.
void shared(World& world, const Task& task) {
  const auto sizes = task.numbers("sizes", "0,1024,16384,65536,262144");
  const auto reps = static_cast<int>(task.number("reps", 200));
  std::vector<int> nodes;
  for (const std::int64_t node : task.numbers("nodes", "")) nodes.push_back(static_cast<int>(node));
  if (nodes.size() != static_cast<std::size_t>(world.size()))
    throw UsageError("shared: 'nodes' must name a node for each rank");
  const auto rounds = task.rounds("pairs", world.size());
  if (rounds.size() != 1) throw UsageError("shared: 'pairs' must be one round");
  const Seat seat = seat_in(rounds.front(), world.rank());
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world.comm(), &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (const bool fetches : {false, true}) {
    const std::unique_ptr<NodeMemory> memory =
        set_up(comm, world.rank(), nodes, fetches ? 1 : NodeMemory::never_fetched_bytes);
    const bool takes_part = seat.taken() && memory != nullptr && memory->index_of(seat.peer) >= 0;
    for (const std::int64_t bytes : sizes) {
      std::vector<double> times;
      world.quiet_barrier();
      if (takes_part) {
        const Side side{memory->messenger(), memory->index_of(seat.peer)};
        shared_trips(world, side, seat.is_first, bytes, reps / 10 + 1);
        times = shared_trips(world, side, seat.is_first, bytes, reps);
      }
      const auto all = world.gather(times);
      if (!world.is_root()) continue;
      std::vector<double> round_ns;
      for (const auto& one : all) round_ns.insert(round_ns.end(), one.begin(), one.end());
      print_line({{"event", "shared"}, {"bytes", bytes}, {"fetches", fetches}, {"round_ns", round_ns}});
    }
  }
  MPI_Comm_free(&comm);
}

}  // namespace probe
