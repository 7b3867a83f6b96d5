// SPDX-License-Identifier: Apache-2.0
// Compares the order of critical_first with its rule word by word: before each message that begins, all that wait are
// looked at.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/phases.hpp"

#include "../../src/phases/ports.hpp"

using namespace antiphon;

namespace {

class WordByWord {
 public:
  WordByWord(const Pattern& pattern, const Fabric& fabric, std::int64_t small_bytes)
      : ports_(fabric, pattern.size), small_(split_off_small(pattern, ports_, small_bytes, messages_)),
        phases_{pattern.size, "critical_first", {}} {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      waiting_.push_back(i);
      for (const FabricLink& link : links_of(i)) {
        free_[link] = link.first < 2 ? 1 : ports_.uplink_messages();
        left_s_[link] += seconds(i, link);
      }
    }
  }

  Phases run() {
    std::vector<std::size_t> candidates = waiting_;
    while (!waiting_.empty()) {
      for (auto next = most_urgent(candidates); next != candidates.end(); next = most_urgent(candidates)) begin(*next);
      candidates = end_next();
    }
    if (!small_.parts.empty()) phases_.phases.insert(phases_.phases.begin(), small_);
    return phases_;
  }

 private:
  using FabricLink = std::pair<int, int>;  ///< out of a node, into one, up from a switch or down to one; and which
  using Candidates = std::vector<std::size_t>;

  [[nodiscard]] std::vector<FabricLink> links_of(std::size_t i) const {
    const Ports::Use use = ports_.of(messages_[i].from, messages_[i].to);
    std::vector<FabricLink> links{{0, use.out}, {1, use.in}, {2, use.up}, {3, use.down}};
    std::erase_if(links, [](const FabricLink& link) { return link.second < 0; });
    return links;
  }
  [[nodiscard]] double seconds(std::size_t i, const FabricLink& link) const {
    const double per_byte = link.first < 2 ? ports_.seconds_per_byte() : ports_.uplink_seconds_per_byte();
    return static_cast<double>(messages_[i].bytes) * per_byte;
  }
  [[nodiscard]] double urgency(std::size_t i) {
    double most = 0;
    for (const FabricLink& link : links_of(i)) most = std::max(most, left_s_[link]);
    return most;
  }

  Candidates::const_iterator most_urgent(const Candidates& candidates) {
    auto best = candidates.end();
    for (auto at = candidates.begin(); at != candidates.end(); ++at) {
      const auto links = links_of(*at);
      const bool begun = std::find(waiting_.begin(), waiting_.end(), *at) == waiting_.end();
      if (begun || std::any_of(links.begin(), links.end(), [&](const auto& link) { return free_[link] == 0; }))
        continue;
      const auto rank = [&](std::size_t i) { return std::pair(urgency(i), messages_[i].bytes); };
      if (best == candidates.end() || rank(*at) > rank(*best)) best = at;
    }
    return best;
  }

  void begin(std::size_t i) {
    const PatternMessage& m = messages_[i];
    for (const FabricLink& link : links_of(i)) --free_[link];
    std::erase(waiting_, i);
    running_.emplace(now_s_ + static_cast<double>(m.bytes) * ports_.seconds_per_byte(), i);
    const Ports::Use use = ports_.of(m.from, m.to);
    std::size_t &from = depth_[{0, use.out}], &to = depth_[{1, use.in}];
    const std::size_t phase = std::max(from, to);
    from = to = phase + 1;
    if (phases_.phases.size() <= phase) phases_.phases.resize(phase + 1);
    phases_.phases[phase].parts.push_back({m.from, m.to, 0, m.bytes});
  }

  Candidates end_next() {
    Candidates candidates;
    for (now_s_ = running_.begin()->first; !running_.empty() && running_.begin()->first <= now_s_;) {
      const std::size_t ended = running_.begin()->second;
      running_.erase(running_.begin());
      for (const FabricLink& link : links_of(ended)) {
        ++free_[link];
        left_s_[link] -= seconds(ended, link);
        for (const std::size_t i : waiting_) {
          const auto links = links_of(i);
          if (std::find(links.begin(), links.end(), link) != links.end()) candidates.push_back(i);
        }
      }
    }
    return candidates;
  }

  Ports ports_;
  std::vector<PatternMessage> messages_;  ///< the long ones
  PhaseOfParts small_;
  Phases phases_;
  std::map<FabricLink, double> left_s_;
  std::map<FabricLink, int> free_;
  std::map<FabricLink, std::size_t> depth_;
  std::vector<std::size_t> waiting_;
  std::set<std::pair<double, std::size_t>> running_;  ///< by when they end
  double now_s_ = 0;
};

/// Sizes of few values: many messages are equally urgent and equally long.
Pattern of_few_sizes(int size, std::int64_t sizes, std::mt19937_64& random) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  for (std::int64_t& bytes : counts) bytes = static_cast<std::int64_t>(random() % static_cast<unsigned>(sizes)) * 10000;
  return Pattern::of_counts(size, counts);
}

}  // namespace

TEST_CASE("critical_first: all that can begins, the most urgent first, in the order of its rule") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 120; ++i) {
    const int size = 2 + static_cast<int>(random() % 14);
    Fabric fabric;
    if (i % 3 > 0) {
      const int per_node = i % 3;
      for (int rank = 0; rank < size; ++rank) fabric.node_of_rank.push_back(rank / per_node);
      for (int node = 0; node < size; ++node) fabric.switch_of_node.push_back(node % 3);
      fabric.uplink_bytes_per_s = (1 + i % 2) * fabric.link_bytes_per_s;
    }
    const Pattern pattern = of_few_sizes(size, i % 4 == 0 ? 2 : i % 4 == 1 ? 5 : 1000, random);
    for (const std::int64_t small_bytes : {0, 15000}) {
      CAPTURE(i);
      CHECK(find_scheduler("critical_first")->build(pattern, fabric, small_bytes) ==
            WordByWord(pattern, fabric, small_bytes).run());
    }
  }
}
