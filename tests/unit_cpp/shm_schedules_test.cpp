// SPDX-License-Identifier: Apache-2.0
// Schedules whose messages move through shared memory, each rank a thread. The thread sanitizer runs this too.
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/progress.hpp"
#include "antiphon/verify.hpp"
#include "shm_node.hpp"

using namespace antiphon;

namespace {

void add(const std::byte* in, std::byte* inout, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i)
    inout[i] = static_cast<std::byte>(static_cast<unsigned>(in[i]) + static_cast<unsigned>(inout[i]));
}

/// Runs one rank's schedule as the executor does.
class Runner {
 public:
  Runner(const Schedule& schedule, const Memory& memory, shm::Messenger& messenger)
      : schedule_(schedule), progress_(schedule), messenger_(messenger),
        scratch_(static_cast<std::size_t>(schedule.scratch_bytes())),
        base_{memory.input, memory.output, scratch_.data()} {}

  void run() {
    while (!progress_.done()) {
      Progress::Piece piece;
      while (progress_.next(piece)) start(piece);
      messenger_.look();
      retire();
      std::this_thread::yield();
    }
  }

 private:
  struct Message {
    Progress::Piece piece;
    std::unique_ptr<shm::Transfer> transfer;
  };

  [[nodiscard]] std::byte* address(const Range& range) const {
    std::byte* const base = base_[static_cast<std::size_t>(range.space)];
    return base == nullptr ? nullptr : base + range.offset_bytes;  // sends write nowhere
  }

  void start(const Progress::Piece& piece) {
    const Op& op = schedule_.ops()[piece.op];
    std::byte* const from = address(op.from_piece(piece.index));
    std::byte* const to = address(op.to_piece(piece.index));
    const auto bytes = static_cast<std::size_t>(op.piece_size(piece.index));
    if (op.is_message()) {
      auto transfer = std::make_unique<shm::Transfer>();
      transfer->peer = op.peer;
      transfer->tag = op.tag;
      transfer->at = op.kind == OpKind::recv ? to : from;
      transfer->bytes = bytes;
      op.kind == OpKind::recv ? messenger_.receive(*transfer) : messenger_.send(*transfer);
      under_way_.push_back({piece, std::move(transfer)});
      return;
    }
    if (op.kind == OpKind::copy && bytes > 0) std::memmove(to, from, bytes);
    if (op.kind == OpKind::reduce) add(from, to, static_cast<std::int64_t>(bytes));
    progress_.complete(piece);
  }

  void retire() {
    for (std::size_t i = 0; i < under_way_.size();) {
      if (!under_way_[i].transfer->done.load(std::memory_order_acquire)) {
        ++i;
        continue;
      }
      progress_.complete(under_way_[i].piece);
      under_way_[i] = std::move(under_way_.back());
      under_way_.pop_back();
    }
  }

  const Schedule& schedule_;
  Progress progress_;
  shm::Messenger& messenger_;
  std::vector<std::byte> scratch_;
  std::array<std::byte*, 3> base_;
  std::vector<Message> under_way_;
};

/// The memory of all ranks, filled alike for each seed.
struct Memories {
  std::vector<std::vector<std::byte>> inputs, outputs;
  std::vector<Memory> list;

  Memories(int ranks, std::size_t bytes, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int r = 0; r < ranks; ++r) {
      for (auto* space : {&inputs, &outputs}) {
        space->emplace_back(bytes);
        for (std::byte& b : space->back()) b = static_cast<std::byte>(random());
      }
      list.push_back({inputs.back().data(), static_cast<std::int64_t>(bytes), outputs.back().data(),
                      static_cast<std::int64_t>(bytes)});
    }
  }
};

/// Returns whether all ranks' schedules leave the same bytes as in the verifier.
bool same_as_verified(const Algorithm& algorithm, const std::vector<Problem>& problems, std::size_t bytes) {
  const auto size = static_cast<int>(problems.size());
  std::vector<Schedule> schedules;
  for (const Problem& problem : problems) schedules.push_back(algorithm.build(problem));
  Memories expected(size, bytes, 4);
  Memories found(size, bytes, 4);
  if (run_in_process(schedules, expected.list, add, 1)) return false;
  Node node(size, 4096, 3000);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      const auto index = static_cast<std::size_t>(r);
      Runner(schedules[index], found.list[index], node.rank(r)).run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return found.outputs == expected.outputs;
}

}  // namespace

TEST_CASE("shm: schedules do through memory what the verifier does") {
  constexpr int size = 5;
  constexpr std::int64_t block_bytes = 9000;
  for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::allreduce,
                                      Collective::allgather, Collective::alltoall, Collective::barrier}) {
    for (const Algorithm* algorithm : algorithms_for(collective)) {
      Case c{.collective = collective, .size = size, .bytes = block_bytes};
      c.parameters = resolve_parameters(*algorithm, {});
      const std::vector<Problem> problems = problems_of(c);
      if (algorithm->multicasts || !supports(*algorithm, problems.front())) continue;
      const std::string tried = std::string(name(collective)) + ":" + std::string(algorithm->name);
      CAPTURE(tried);
      CHECK(same_as_verified(*algorithm, problems, static_cast<std::size_t>(size * block_bytes)));
    }
  }
}
