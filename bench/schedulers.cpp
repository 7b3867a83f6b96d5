// SPDX-License-Identifier: Apache-2.0
/// Measures each scheduler's processor time: antiphon_bench_schedulers [RANKS…]. Needs no MPI.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "antiphon/phases.hpp"

namespace {

/// Schedulers have one thread, so on an idle machine this equals the elapsed time.
double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

antiphon::Pattern dense(int ranks, bool equal) {
  std::mt19937_64 random(1);
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::int64_t> counts(size * size);
  for (std::int64_t& bytes : counts) bytes = equal ? 65536 : static_cast<std::int64_t>(random() % 100'000) + 1;
  return antiphon::Pattern::of_counts(ranks, counts);
}

template <typename Work>
double median_ms(int repetitions, Work work) {
  std::vector<double> times_ms;
  for (int i = 0; i < repetitions; ++i) {
    const double start_ms = processor_ms();
    work();
    times_ms.push_back(processor_ms() - start_ms);
  }
  std::sort(times_ms.begin(), times_ms.end());
  return times_ms[times_ms.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {16, 64, 256, 1024};
  for (const int ranks : sizes) {
    if (ranks < 1) return 2;
    const int repetitions = ranks <= 64 ? 15 : 3;
    for (const bool equal : {true, false}) {
      const antiphon::Pattern pattern = dense(ranks, equal);
      const antiphon::Fabric fabric;
      for (const antiphon::Scheduler* scheduler : antiphon::schedulers()) {
        if (scheduler->worth != nullptr && !scheduler->worth(pattern, fabric)) continue;
        const double ms = median_ms(repetitions, [&] { scheduler->build(pattern, fabric, 0); });
        std::printf("%4d ranks, %s: %-15s %10.3f ms\n", ranks, equal ? "equal " : "random", scheduler->name.data(), ms);
      }
      const double all_ms = median_ms(repetitions, [&] { antiphon::compile_pattern(pattern, fabric); });
      std::printf("%4d ranks, %s: %-15s %10.3f ms\n", ranks, equal ? "equal " : "random", "best of all", all_ms);
      std::fflush(stdout);
    }
  }
}
