// SPDX-License-Identifier: Apache-2.0
#include "select/guess_limits.hpp"

#include "cost/values.hpp"

namespace antiphon {

namespace {

/// Of shorter messages a guessed profile knows too little: their times are latencies and overheads. On slow links that
/// holds for longer ones that are cut into parts: a guess does not know what switches take that store them.
constexpr std::int64_t least_guessed_bytes = 512;
constexpr std::int64_t least_guessed_whole_bytes = 5120;
/// Of a scan's short steps, which hang on one another, it knows too little.
constexpr std::int64_t least_guessed_scan_bytes = 16384;
/// Of nonblocking calls, starting and looking after them is a larger part.
constexpr std::int64_t least_guessed_nonblocking_bytes = 4096;
constexpr std::int64_t slow_link_bits_per_s = 300'000'000;
/// Where nodes share cores, a guess knows little of what a message within a node costs; shorter messages hang on it.
constexpr std::int64_t least_guessed_nested_bytes = 65536;
/// A connection's rate may have been measured as faster than it is: the least part that is true of it.
constexpr double least_true_share = 0.8;

}  // namespace

std::int64_t least_bytes_to_guess(const Question& question) {
  const bool scans = question.collective == Collective::scan || question.collective == Collective::exscan;
  if (scans) return least_guessed_scan_bytes;
  if (question.nonblocking) return least_guessed_nonblocking_bytes;
  const bool may_be_cut = !has_blocks(question.collective) && question.link_bits_per_s < slow_link_bits_per_s;
  return may_be_cut ? least_guessed_whole_bytes : least_guessed_bytes;
}

bool knows_nested(std::int64_t bytes, const Cluster& cluster) {
  const bool shares_cores = cluster.cores() > 0;
  if (!cluster.profile().first_guess || !shares_cores) return true;
  // What matters is how long the bytes are under way.
  const double share = measured_port_share(cluster);
  const double least = (share < 1 ? least_true_share * share : 1) * static_cast<double>(least_guessed_nested_bytes);
  return static_cast<double>(bytes) >= least;
}

}  // namespace antiphon
