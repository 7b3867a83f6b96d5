// SPDX-License-Identifier: Apache-2.0
// Checks every alltoallv algorithm on the size patterns that break schedules, where what one rank sends says nothing
// about the other ranks.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <string_view>

#include <doctest/doctest.h>

#include "antiphon/verify.hpp"
#include "most_ranks.hpp"

using namespace antiphon;

namespace {

using Random = std::mt19937_64;
/// Returns the bytes from one rank to another.
using SizeOf = std::function<std::int64_t(int from, int to)>;

std::byte expected_byte(int from, int to, std::int64_t i) {
  return static_cast<std::byte>(from * 31 + to * 7 + i * 13 + i / 256);
}

struct Exchange {
  std::vector<Problem> problems;
  std::vector<std::vector<std::byte>> inputs, outputs;
};

/// Places blocks in a random order with gaps, and returns the bytes that they span.
std::int64_t place(const std::vector<std::int64_t>& sizes, std::vector<std::int64_t>& offsets, Random& random) {
  std::vector<std::size_t> order(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  offsets.assign(sizes.size(), 0);
  std::int64_t end = 0;
  for (const std::size_t i : order) {
    offsets[i] = end + static_cast<std::int64_t>(random() % 5);
    end = offsets[i] + sizes[i];
  }
  return end;
}

Exchange make_exchange(const Algorithm& a, int ranks, const SizeOf& sizes, const Parameters& parameters,
                       Random& random) {
  Exchange e;
  std::vector<std::int64_t> all;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) all.push_back(sizes(from, to));
  }
  const auto counts = std::make_shared<const std::vector<std::int64_t>>(std::move(all));
  const int per_node = 1 + static_cast<int>(random() % 4);
  for (int rank = 0; rank < ranks; ++rank) {
    Problem p;
    if (a.knowledge == Knowledge::all_counts) p.all_counts = counts;
    if (a.levels) p.node_sizes = blocked_nodes(ranks, per_node);
    p.collective = Collective::alltoallv;
    p.rank = rank;
    p.size = ranks;
    p.parameters = resolve_parameters(a, parameters);
    for (int other = 0; other < ranks; ++other) {
      p.send_bytes.push_back(sizes(rank, other));
      p.recv_bytes.push_back(sizes(other, rank));
    }
    e.inputs.emplace_back(static_cast<std::size_t>(place(p.send_bytes, p.send_offsets, random)));
    e.outputs.emplace_back(static_cast<std::size_t>(place(p.recv_bytes, p.recv_offsets, random)), std::byte{0x5A});
    for (int other = 0; other < ranks; ++other) {
      const Range block = p.input_block(other);
      for (std::int64_t i = 0; i < block.bytes; ++i) {
        e.inputs.back()[static_cast<std::size_t>(block.offset_bytes + i)] = expected_byte(rank, other, i);
      }
    }
    e.problems.push_back(std::move(p));
  }
  return e;
}

std::optional<std::string> wrong_in(const Exchange& e, const std::vector<std::vector<std::byte>>& outputs) {
  for (const Problem& p : e.problems) {
    const auto& out = outputs[static_cast<std::size_t>(p.rank)];
    std::vector<std::byte> wanted(out.size(), std::byte{0x5A});
    for (int from = 0; from < p.size; ++from) {
      const Range block = p.output_block(from);
      for (std::int64_t i = 0; i < block.bytes; ++i) {
        wanted[static_cast<std::size_t>(block.offset_bytes + i)] = expected_byte(from, p.rank, i);
      }
    }
    if (out != wanted) return "rank " + std::to_string(p.rank) + " has a wrong result";
  }
  return std::nullopt;
}

void expect_right(const Algorithm& a, const Exchange& e, const std::string& what, std::uint64_t seed) {
  auto inputs = e.inputs;
  auto outputs = e.outputs;
  std::vector<Schedule> schedules;
  std::vector<Memory> memories;
  for (std::size_t r = 0; r < e.problems.size(); ++r) {
    schedules.push_back(a.build(e.problems[r]));
    memories.push_back({inputs[r].data(), static_cast<std::int64_t>(inputs[r].size()), outputs[r].data(),
                        static_cast<std::int64_t>(outputs[r].size())});
  }
  CAPTURE(what);
  const auto failed = run_in_process(schedules, memories, {}, seed);
  CHECK_MESSAGE(!failed, failed.value_or(""));
  if (failed) return;
  const auto wrong = wrong_in(e, outputs);
  CHECK_MESSAGE(!wrong, wrong.value_or(""));
}

void expect_right(const Algorithm& a, Exchange& e, const Parameters& parameters, std::uint64_t seed) {
  std::string what =
      std::string(a.name) + " ranks " + std::to_string(e.problems.size()) + " seed " + std::to_string(seed);
  for (const auto& p : parameters) what += ' ' + p.name + '=' + std::to_string(p.value);
  for (Problem& p : e.problems) p.parameters = resolve_parameters(a, parameters);
  expect_right(a, e, what, seed);
}

/// Pieces are small, so that modest blocks have many of them; a few windows are tried.
std::vector<Parameters> parameters_to_try(const Algorithm& a) {
  std::vector<Parameters> sets{{}};
  const auto has = [&](std::string_view wanted) {
    return std::any_of(a.parameters.begin(), a.parameters.end(), [&](const Parameter& p) { return p.name == wanted; });
  };
  for (const std::int64_t piece : {1, 7, 16}) {
    for (const std::int64_t window : {1, 2, 5}) {
      Parameters set{{has("piece_bytes") ? "piece_bytes" : "segment_bytes", piece}};
      if (has("window")) set.push_back({"window", window});
      if (has("credit_bytes")) {
        set.push_back({"credit_bytes", piece * window * 3});
        set.push_back({"sender_bytes", piece * window});
        set.push_back({"short_bytes", piece * (window % 2)});
      }
      if (has("sync")) set.push_back({"sync", (piece + window) % 3});
      if (has("senders")) set.push_back({"senders", window});
      sets.push_back(set);
    }
  }
  return sets;
}

void for_everything(const std::function<SizeOf(int ranks, Random& random)>& pattern, int seeds) {
  for (const Algorithm* a : algorithms_for(Collective::alltoallv)) {
    for (int ranks = 1; ranks <= most_ranks(17); ++ranks) {
      for (int seed = 1; seed <= seeds; ++seed) {
        const auto mixed = static_cast<std::uint64_t>(seed * 1000 + ranks);
        Random of_sizes(mixed);
        Random of_places(mixed);
        Exchange e = make_exchange(*a, ranks, pattern(ranks, of_sizes), {}, of_places);
        for (const Parameters& parameters : parameters_to_try(*a)) expect_right(*a, e, parameters, mixed);
      }
    }
  }
}

/// The sizes are drawn once for every pair.
SizeOf table(int ranks, const std::function<std::int64_t(int from, int to)>& draw) {
  std::vector<std::int64_t> drawn;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) drawn.push_back(draw(from, to));
  }
  return [drawn, ranks](int from, int to) { return drawn[static_cast<std::size_t>(from * ranks + to)]; };
}

}  // namespace

TEST_CASE("alltoallv: sparse patterns, most blocks empty") {
  for_everything(
      [](int ranks, Random& random) {
        return table(ranks, [&](int, int) { return random() % 5 == 0 ? static_cast<std::int64_t>(random() % 90) : 0; });
      },
      3);
}

TEST_CASE("alltoallv: sizes over orders of magnitude") {
  for_everything(
      [](int ranks, Random& random) {
        return table(ranks, [&](int, int) {
          return static_cast<std::int64_t>((std::uint64_t{1} << (random() % 9)) - random() % 2);
        });
      },
      3);
}

TEST_CASE("alltoallv: everyone to one rank, and one rank to everyone") {
  for_everything(
      [](int ranks, Random& random) {
        const int hot = static_cast<int>(random() % static_cast<unsigned>(ranks));
        const bool into = random() % 2 == 0;
        return table(ranks, [=](int from, int to) { return (into ? to : from) == hot ? 60 + from : std::int64_t{0}; });
      },
      4);
}

TEST_CASE("alltoallv: one huge block among tiny ones") {
  for_everything(
      [](int ranks, Random& random) {
        const int from_huge = static_cast<int>(random() % static_cast<unsigned>(ranks));
        const int to_huge = static_cast<int>(random() % static_cast<unsigned>(ranks));
        return table(ranks,
                     [=](int from, int to) { return from == from_huge && to == to_huge ? 700 : (from + to) % 4; });
      },
      3);
}

TEST_CASE("alltoallv: ranks that send nothing, ranks that receive nothing, and nothing at all") {
  for_everything(
      [](int ranks, Random& random) {
        const std::uint64_t silent = random();
        const std::uint64_t deaf = random();
        const bool nothing = random() % 4 == 0;
        return table(ranks, [=](int from, int to) {
          return nothing || (silent >> from & 1) != 0 || (deaf >> to & 1) != 0 ? std::int64_t{0} : 40 + from - to;
        });
      },
      4);
}

TEST_CASE("alltoallv: ranks in phases with different windows, some of which hold nothing back") {
  for (const std::string_view name : {"rotated", "exchange_xor"}) {
    const Algorithm& a = *find_algorithm(Collective::alltoallv, name);
    for (int ranks = 2; ranks <= most_ranks(17); ++ranks) {
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Random random(seed);
        const SizeOf sizes = table(ranks, [&](int, int) { return static_cast<std::int64_t>(random() % 50); });
        Exchange e = make_exchange(a, ranks, sizes, {{"piece_bytes", 7}, {"sync", 1}, {"token_bytes", 10}}, random);
        for (Problem& p : e.problems) {
          const auto window =
              std::ranges::find_if(p.parameters, [](const ParameterValue& one) { return one.name == "window"; });
          window->value = std::array{1, 2, 1024}[random() % 3];
        }
        expect_right(a, e, std::string(name) + " ranks " + std::to_string(ranks), seed);
      }
    }
  }
}
