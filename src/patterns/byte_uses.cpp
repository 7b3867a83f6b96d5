// SPDX-License-Identifier: Apache-2.0
#include "patterns/byte_uses.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace antiphon {

namespace {

/// Returns the index of the first use that ends behind `offset`.
template <class Uses>
std::ptrdiff_t first_behind(const Uses& uses, std::int64_t offset) {
  const auto ends_before = [offset](const auto& use) { return use.end <= offset; };
  return std::partition_point(uses.begin(), uses.end(), ends_before) - uses.begin();
}

/// Divides the use that covers `offset`, if one does. Returns the index of the first use from `offset` on.
template <class Uses>
std::ptrdiff_t cut_at(Uses& uses, std::int64_t offset) {
  const std::ptrdiff_t i = first_behind(uses, offset);
  if (i == std::ssize(uses) || uses[static_cast<std::size_t>(i)].begin >= offset) return i;
  auto rest = uses[static_cast<std::size_t>(i)];
  rest.begin = offset;
  uses[static_cast<std::size_t>(i)].end = offset;
  uses.insert(uses.begin() + i + 1, rest);
  return i + 1;
}

}  // namespace

void ByteUses::write(const Range& range, OpId op) {
  if (range.bytes == 0) return;
  Uses& uses = of(range.space);
  const std::int64_t end = range.offset_bytes + range.bytes;
  const std::ptrdiff_t first = cut_at(uses, range.offset_bytes);
  const std::ptrdiff_t behind = cut_at(uses, end);
  const Use written{range.offset_bytes, end, op, nobody};
  if (first == behind) {
    uses.insert(uses.begin() + first, written);
    return;
  }
  uses[static_cast<std::size_t>(first)] = written;
  uses.erase(uses.begin() + first + 1, uses.begin() + behind);
}

void ByteUses::read(const Range& range, OpId op) {
  if (range.bytes == 0) return;
  Uses& uses = of(range.space);
  const std::int64_t end = range.offset_bytes + range.bytes;
  cut_at(uses, end);
  std::int64_t offset = range.offset_bytes;
  for (std::ptrdiff_t i = cut_at(uses, offset); offset < end; ++i) {
    const std::int64_t next = i == std::ssize(uses) ? end : std::min(end, uses[static_cast<std::size_t>(i)].begin);
    if (next > offset) uses.insert(uses.begin() + i, Use{offset, next});
    Use& use = uses[static_cast<std::size_t>(i)];
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
  for (auto use = uses.begin() + first_behind(uses, range.offset_bytes); use != uses.end() && use->begin < end; ++use)
    visit(*use);
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
