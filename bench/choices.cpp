// SPDX-License-Identifier: Apache-2.0
/// How long choosing an algorithm takes: antiphon_bench_choices. Needs no MPI. Exits with 1 if it takes longer than it
/// may: a choice by rules 50 ns; the median of choices by the model 5 ms for 64 ranks and 20 ms for 1,024; a prediction
/// of every algorithm at 16 and 256 ranks 60 s. A run chooses once for each communicator, collective and size. The
/// limits are meant for an optimised build.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "antiphon/cost.hpp"
#include "antiphon/model_choice.hpp"
#include "antiphon/select.hpp"

namespace {

using namespace antiphon;

constexpr double most_choice_ns = 50;
constexpr double most_predictions_s = 60;
constexpr double most_ms_of_64_ranks = 5;
constexpr double most_ms_of_1024_ranks = 20;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The best of several attempts: what else the machine does only adds to it.
double choice_ns() {
  const Rules& rules = Rules::defaults();
  constexpr int turns = 20000;
  double best_s = std::numeric_limits<double>::infinity();
  std::size_t found = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto begin = Clock::now();
    for (std::int64_t bytes = 0; bytes < turns; ++bytes)
      found +=
          rules.choose({Collective::alltoall, 16, 16, 1, bytes, 1, true, 100'000'000}).algorithm != nullptr ? 1 : 0;
    best_s = std::min(best_s, seconds_since(begin) / turns);
  }
  if (found == 0) std::puts("no algorithm was chosen");
  return best_s * 1e9;
}

/// One switch, whose ports carry 100 MB/s, and multicasts.
Profile plain_profile() {
  constexpr double bytes_per_s = 100e6;
  Profile profile;
  profile.link_classes = {
      {"plain", Scope::same_switch, 40e-6, Curve({{0, 0}}), Curve({{0, 0}}), Curve::line(20e-6, bytes_per_s)}};
  profile.topology.switches.push_back({"switch"});
  profile.topology.nodes.assign(16, {"", 0, bytes_per_s});
  profile.multicast = {true, 40e-6, Curve::line(20e-6, bytes_per_s), 100e-6};
  return profile;
}

double predictions_s() {
  const Profile profile = plain_profile();
  const auto begin = Clock::now();
  for (const Algorithm* algorithm : algorithms()) {
    for (const int ranks : {16, 256})
      (void)predict({algorithm->collective, 4096}, *algorithm, {}, Cluster::blocked(profile, ranks, 1));
  }
  return seconds_since(begin);
}

/// Nodes, and ranks on each of them.
struct Shape {
  int nodes, ranks_per_node;
};

/// A choice by the model, and how long it took.
struct Timed {
  double ms;
  std::string what;
};

Timed time_of(const Question& question, const Profile& profile) {
  const auto begin = Clock::now();
  (void)choose_with_model(Rules::defaults(), question, profile);
  return {seconds_since(begin) * 1e3, std::string(name(question.collective)) + " of " + std::to_string(question.bytes) +
                                          " bytes among " + std::to_string(question.nodes) + " × " +
                                          std::to_string(question.max_ranks_per_node)};
}

constexpr std::string_view libraries[] = {"openmpi", "mpich"};
constexpr std::int64_t rates[] = {1'000'000'000, 10'000'000'000};
constexpr std::int64_t sizes[] = {64, 1024, 8192, 65536, 524288};

/// What a run asks on nodes of one shape, whose links nobody has measured.
std::vector<Question> questions_of(const Shape& shape, std::int64_t bits_per_s, std::string_view library) {
  std::vector<Question> questions;
  for (const Collective collective :
       {Collective::bcast, Collective::scatter, Collective::gather, Collective::allgather, Collective::alltoall,
        Collective::reduce, Collective::allreduce, Collective::reduce_scatter_block, Collective::barrier}) {
    for (const std::int64_t bytes : sizes) {
      questions.push_back({.collective = collective,
                           .ranks = shape.nodes * shape.ranks_per_node,
                           .nodes = shape.nodes,
                           .max_ranks_per_node = shape.ranks_per_node,
                           .bytes = bytes,
                           .element_bytes = 8,
                           .link_bits_per_s = bits_per_s,
                           .mpi = library});
    }
  }
  return questions;
}

/// Prints how long choices by the model take, and returns the median in milliseconds.
double median_by_model_ms(const char* title, const std::vector<Shape>& shapes) {
  std::vector<Timed> times;
  for (const Shape& shape : shapes) {
    for (const std::int64_t rate : rates) {
      const Profile profile = Profile::guess(shape.nodes, shape.ranks_per_node, static_cast<double>(rate));
      for (const std::string_view library : libraries) {
        for (const Question& question : questions_of(shape, rate, library)) times.push_back(time_of(question, profile));
      }
    }
  }
  std::sort(times.begin(), times.end(), [](const Timed& a, const Timed& b) { return a.ms < b.ms; });
  const auto of_share = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))].ms;
  };
  std::printf("choices by the model for %s: median %.1f ms, nine of ten up to %.1f ms, the longest %.1f ms (%s)\n",
              title, of_share(0.5), of_share(0.9), times.back().ms, times.back().what.c_str());
  return of_share(0.5);
}

}  // namespace

int main() {
  const double by_rules_ns = choice_ns();
  std::printf("a choice by rules:                          %8.1f ns\n", by_rules_ns);
  const double by_model_s = predictions_s();
  std::printf("all algorithms' times at 16 and 256 ranks:  %8.2f s\n", by_model_s);
  const double few_ms = median_by_model_ms("64 ranks", {{64, 1}, {16, 4}, {8, 8}});
  const double many_ms = median_by_model_ms("1,024 ranks", {{1024, 1}, {128, 8}, {64, 16}});
  const bool in_time = by_rules_ns <= most_choice_ns && by_model_s <= most_predictions_s &&
                       few_ms <= most_ms_of_64_ranks && many_ms <= most_ms_of_1024_ranks;
  return in_time ? 0 : 1;
}
