// SPDX-License-Identifier: Apache-2.0
#include "patterns/switch_blocks.hpp"

#include <algorithm>

#include "antiphon/index.hpp"

namespace antiphon {

namespace {

/// Returns which of `to` ranks stands for this one of `from`, so that all stand for about as many.
int scaled(int index, int from, int to) { return static_cast<int>(std::int64_t{index} * to / from); }

}  // namespace

SwitchBlocks::SwitchBlocks(const Problem& p)
    : switches_(Levels::of_switches(p)), most_ranks_(*std::max_element(p.switch_sizes.begin(), p.switch_sizes.end())) {
  const Run here = own();
  std::vector<std::vector<int>> carried(at(here.size()));
  for (const int place : here.places()) carried[at(place - here.first)].push_back(place);
  for (int other = 0; other < switches_.nodes(); ++other) {
    const Run there = switches_.node(other);
    if (there.first == here.first) continue;
    for (const int place : there.places())
      carried[at(scaled(place - there.first, there.size(), here.size()))].push_back(place);
    carriers_.push_back(there.first + scaled(p.rank - here.first, here.size(), there.size()));
  }
  std::size_t most = 0;
  for (const auto& blocks : carried) most = std::max(most, blocks.size());
  passes_.assign(most, std::vector<int>(carried.size(), -1));
  for (std::size_t member = 0; member < carried.size(); ++member) {
    for (std::size_t pass = 0; pass < carried[member].size(); ++pass) passes_[pass][member] = carried[member][pass];
  }
}

Cut uplink_cut(const Problem& p, int senders) {
  /// Two pieces of each sender keep the link busy; shorter ones cost more packets than they save in buffers.
  constexpr int pieces = 2;
  constexpr std::int64_t least_piece_bytes = 1024;
  const std::int64_t segment = p.piece_parameter("segment_bytes");
  const std::int64_t share = std::max(p.parameter("uplink_bytes") / (pieces * senders), least_piece_bytes);
  const std::int64_t piece = std::max(share / p.element_bytes, std::int64_t{1}) * p.element_bytes;
  return {segment > 0 ? std::min(segment, piece) : piece, pieces};
}

Dep after(OpId op, const Cut& cut, const Cut& other) {
  return cut.piece_bytes == other.piece_bytes ? pipelined(op) : Dep(op);
}

}  // namespace antiphon
