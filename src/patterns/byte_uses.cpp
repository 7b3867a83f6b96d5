// SPDX-License-Identifier: Apache-2.0
#include "patterns/byte_uses.hpp"

#include <algorithm>
#include <iterator>

namespace antiphon {

void ByteUses::cut_at(Uses& uses, std::int64_t offset) {
  auto next = uses.upper_bound(offset);
  if (next == uses.begin()) return;
  const auto use = std::prev(next);
  if (use->first == offset || use->second.end <= offset) return;
  Use rest = use->second;
  use->second.end = offset;
  uses.emplace_hint(next, offset, std::move(rest));
}

void ByteUses::write(const Range& range, OpId op) {
  if (range.bytes == 0) return;
  Uses& uses = of(range.space);
  const std::int64_t end = range.offset_bytes + range.bytes;
  cut_at(uses, range.offset_bytes);
  cut_at(uses, end);
  uses.erase(uses.lower_bound(range.offset_bytes), uses.lower_bound(end));
  uses.emplace(range.offset_bytes, Use{end, op, {}});
}

void ByteUses::read(const Range& range, OpId op) {
  if (range.bytes == 0) return;
  Uses& uses = of(range.space);
  const std::int64_t end = range.offset_bytes + range.bytes;
  cut_at(uses, range.offset_bytes);
  cut_at(uses, end);
  std::int64_t offset = range.offset_bytes;
  auto use = uses.lower_bound(offset);
  while (offset < end) {
    if (use == uses.end() || use->first > offset) {
      const std::int64_t gap_end = use == uses.end() ? end : std::min(end, use->first);
      use = uses.emplace_hint(use, offset, Use{gap_end, no_op, {}});
    }
    use->second.readers.push_back(op);
    offset = use->second.end;
    ++use;
  }
}

template <class Visit>
void ByteUses::visit(const Range& range, Visit&& visit) const {
  if (range.bytes == 0) return;
  const Uses& uses = uses_[static_cast<std::size_t>(range.space)];
  auto use = uses.upper_bound(range.offset_bytes);
  if (use != uses.begin() && std::prev(use)->second.end > range.offset_bytes) --use;
  for (; use != uses.end() && use->first < range.offset_bytes + range.bytes; ++use) visit(use->second);
}

void ByteUses::before_read(const Range& range, std::vector<OpId>& found) const {
  visit(range, [&](const Use& use) {
    if (use.writer != no_op) found.push_back(use.writer);
  });
}

void ByteUses::before_write(const Range& range, std::vector<OpId>& found) const {
  visit(range, [&](const Use& use) {
    if (use.writer != no_op) found.push_back(use.writer);
    found.insert(found.end(), use.readers.begin(), use.readers.end());
  });
}

}  // namespace antiphon
