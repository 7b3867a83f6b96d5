// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "experiments.hpp"
#include "statistics.hpp"

namespace probe {

namespace {

constexpr int concurrency_tag = 17;

/// How messages go between the members, which form a ring.
struct Pattern {
  const char* name;
  int messages;  ///< number at once, to the next member, the one after it, …
  bool split;    ///< the bytes are divided among the messages
  bool one_way;  ///< only every second member sends
  bool first;    ///< the clock stops at the first message
};

constexpr Pattern patterns[] = {
    {"one", 1, false, false, false},       {"two", 2, false, false, false},
    {"four", 4, false, false, false},      {"split_two", 2, true, false, false},
    {"split_four", 4, true, false, false}, {"first_of_two", 2, false, false, true},
    {"one_way", 1, false, true, false},
};

double run_pattern(World& world, const Pattern& p, const std::vector<std::int64_t>& members, int place,
                   std::int64_t bytes) {
  const int size = static_cast<int>(members.size());
  const std::int64_t each = p.split ? bytes / p.messages : bytes;
  std::vector<MPI_Request> sends, receives;
  const auto peer = [&](int away) {
    return static_cast<int>(members[static_cast<std::size_t>(((place + away) % size + size) % size)]);
  };
  // One-way messages go in pairs; with an odd number, the last member has no partner.
  const bool sending = !p.one_way || (place % 2 == 0 && place + 1 < size);
  const bool receiving = !p.one_way || place % 2 == 1;
  const double start = now_ns();
  for (int i = 1; receiving && i <= p.messages; ++i) {
    receives.emplace_back();
    MPI_Irecv(world.in(each * p.messages) + (i - 1) * each, static_cast<int>(each), MPI_CHAR, peer(-i), concurrency_tag,
              world.comm(), &receives.back());
  }
  for (int i = 1; sending && i <= p.messages; ++i) {
    sends.emplace_back();
    MPI_Isend(world.out(each), static_cast<int>(each), MPI_CHAR, peer(i), concurrency_tag, world.comm(), &sends.back());
  }
  double took = 0;
  if (p.first) {
    int which = 0;
    MPI_Waitany(static_cast<int>(receives.size()), receives.data(), &which, MPI_STATUS_IGNORE);
    took = now_ns() - start;
  }
  MPI_Waitall(static_cast<int>(receives.size()), receives.data(), MPI_STATUSES_IGNORE);
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
  if (!p.first) took = now_ns() - start;
  return receiving ? took : 0;
}

}  // namespace

/// Paper 4, section 4.1 and figure 5: compares one message with several at once, to different ranks and in both
/// directions, for each of `sizes`, in a ring of `members`. A sample is the slowest member's time. budget: seconds for
/// all.
void concurrency(World& world, const Task& task) {
  const auto members = task.numbers("members", "0,1");
  const auto sizes = task.numbers("sizes", "1024,16384,65536");
  const auto place = static_cast<int>(std::find(members.begin(), members.end(), world.rank()) - members.begin());
  const bool takes_part = place < static_cast<int>(members.size());
  const Budget budget(task.real("budget", 5));
  auto cells = static_cast<double>(sizes.size());
  for (const auto bytes : sizes) {
    const double until = now_ns() + budget.left_s() / cells * 1e9;
    cells -= 1;
    std::vector<std::vector<double>> samples(std::size(patterns));
    std::int64_t more = 1;
    for (int turns = 0; more != 0; ++turns) {
      for (std::size_t i = 0; i < std::size(patterns); ++i) {
        if (patterns[i].messages >= static_cast<int>(members.size())) continue;
        world.barrier();
        const double slowest = world.largest(takes_part ? run_pattern(world, patterns[i], members, place, bytes) : 0);
        if (turns > 0) samples[i].push_back(slowest);
      }
      more = world.agree(static_cast<std::int64_t>(turns < 5 || (turns < 60 && now_ns() < until)));
    }
    for (std::size_t i = 0; world.is_root() && i < std::size(patterns); ++i) {
      if (samples[i].empty()) continue;
      print_line({{"event", "concurrency"}, {"pattern", patterns[i].name}, {"bytes", bytes}, {"ns", samples[i]}});
    }
  }
}

}  // namespace probe
