// SPDX-License-Identifier: Apache-2.0
#include "patterns/byte_uses.hpp"

#include <algorithm>
#include <iterator>

namespace antiphon {

ByteUses::Uses::iterator ByteUses::cut_at(Uses& uses, std::int64_t offset) {
  const auto behind = uses.lower_bound(offset);
  if (behind == uses.begin()) return behind;
  Use& use = std::prev(behind)->second;
  if (use.end <= offset) return behind;
  Use rest = use;
  use.end = offset;
  return uses.emplace_hint(behind, offset, rest);
}

void ByteUses::write(const Range& range, OpId op) {
  if (range.bytes == 0) return;
  Uses& uses = of(range.space);
  const std::int64_t end = range.offset_bytes + range.bytes;
  const auto first = cut_at(uses, range.offset_bytes);
  const auto behind = cut_at(uses, end);
  const Use written{end, op, nobody};
  if (first == behind || first->first != range.offset_bytes) {
    uses.erase(first, behind);
    uses.emplace_hint(behind, range.offset_bytes, written);
    return;
  }
  first->second = written;
  uses.erase(std::next(first), behind);
}

void ByteUses::read(const Range& range, OpId op) {
  if (range.bytes == 0) return;
  Uses& uses = of(range.space);
  const std::int64_t end = range.offset_bytes + range.bytes;
  cut_at(uses, end);
  std::int64_t offset = range.offset_bytes;
  for (auto i = cut_at(uses, offset); offset < end; ++i) {
    const std::int64_t next = i == uses.end() ? end : std::min(end, i->first);
    if (next > offset) i = uses.emplace_hint(i, offset, Use{next});
    Use& use = i->second;
    readers_.push_back({op, use.last_reader});
    use.last_reader = static_cast<std::int32_t>(readers_.size()) - 1;
    offset = use.end;
  }
}

template <class Visit>
void ByteUses::visit(const Range& range, Visit&& visit) const {
  if (range.bytes == 0) return;
  const Uses& uses = uses_[static_cast<std::size_t>(range.space)];
  const std::int64_t end = range.offset_bytes + range.bytes;
  auto use = uses.upper_bound(range.offset_bytes);
  if (use != uses.begin() && std::prev(use)->second.end > range.offset_bytes) --use;
  for (; use != uses.end() && use->first < end; ++use) visit(use->second);
}

void ByteUses::before_read(const Range& range, std::vector<OpId>& found) const {
  visit(range, [&](const Use& use) {
    if (use.writer != no_op) found.push_back(use.writer);
  });
}

void ByteUses::before_write(const Range& range, std::vector<OpId>& found) const {
  visit(range, [&](const Use& use) {
    if (use.writer != no_op) found.push_back(use.writer);
    for (std::int32_t i = use.last_reader; i != nobody; i = readers_[static_cast<std::size_t>(i)].before)
      found.push_back(readers_[static_cast<std::size_t>(i)].op);
  });
}

}  // namespace antiphon
