// SPDX-License-Identifier: Apache-2.0
#include "patterns/block_row.hpp"

namespace antiphon {

BlockRow::BlockRow(Composition& s, std::vector<Range> blocks, bool here) : blocks_(std::move(blocks)) {
  for (const Range& block : blocks_) {
    if (block.bytes > 0 && offsets_.back() == 0) row_ = block;
    direct_ = direct_ && (block.bytes == 0 || block.offset_bytes == row_.offset_bytes + offsets_.back());
    offsets_.push_back(offsets_.back() + block.bytes);
  }
  row_.bytes = offsets_.back();
  if (!direct_ && here) row_ = s.scratch(row_.bytes);
}

std::vector<Composition::Copy> BlockRow::copies(bool out) const {
  std::vector<Composition::Copy> list;
  for (int place = 0; place < static_cast<int>(blocks_.size()) && !direct_; ++place) {
    const Range& block = blocks_[static_cast<std::size_t>(place)];
    const Range in_row = of({place, place + 1});
    list.push_back(out ? Composition::Copy{in_row, block} : Composition::Copy{block, in_row});
  }
  return list;
}

void BlockRow::collect(Composition& s) const { s.copy(copies(false)); }
void BlockRow::spread(Composition& s) const { s.copy(copies(true)); }

std::vector<Range> BlockRow::each(const Run& places) const {
  std::vector<Range> list;
  for (int place = places.first; place < places.last; ++place) list.push_back(of({place, place + 1}));
  return list;
}

std::vector<Range> BlockRow::by_node(const Levels& levels, int lane) const {
  std::vector<Range> list;
  for (int node = 0; node < levels.nodes(); ++node) list.push_back(of(levels.lane(node, lane)));
  return list;
}

std::vector<Range> input_blocks(const Problem& p) {
  std::vector<Range> list;
  for (int place = 0; place < p.size; ++place) list.push_back(p.input_block(place));
  return list;
}

std::vector<Range> output_blocks(const Problem& p) {
  std::vector<Range> list;
  for (int place = 0; place < p.size; ++place) list.push_back(p.output_block(place));
  return list;
}

std::vector<Range> equal_blocks(const Range& whole, int count, std::int64_t bytes) {
  std::vector<Range> list;
  for (int i = 0; i < count; ++i) list.push_back(whole.sub(i * bytes, bytes));
  return list;
}

}  // namespace antiphon
