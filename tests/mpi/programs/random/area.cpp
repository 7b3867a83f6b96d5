// SPDX-License-Identifier: Apache-2.0
#include "area.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {
constexpr long guard = 64;
}

Area::~Area() { std::free(memory_); }

void Area::allocate(Rng& rng) {
  bool found = false;
  for (const Block& block : blocks_) {
    if (block.count == 0) continue;
    const long first = block.displacement + block.layout.first();
    const long last = block.displacement + block.layout.last(block.count);
    low_ = found ? std::min(low_, first) : first;
    high_ = found ? std::max(high_, last) : last;
    found = true;
  }
  const long aligned = (low_ % 16 + 16) % 16, shift = rng.chance(50) ? 0 : 16 * rng.between(1, 300);
  zero_ = guard + shift + aligned - low_;
  expected_.resize(static_cast<size_t>(zero_ + high_ + guard));
  memory_ = static_cast<unsigned char*>(std::malloc(expected_.size()));
}

void Area::write(const Block& block, const Bytes& content, bool to_memory) {
  if (block.count == 0) return;
  size_t from = 0;
  for (long i = 0; i < block.count; i++) {
    for (const Piece& piece : block.layout.pieces) {
      const long to = zero_ + block.displacement + i * block.layout.extent + piece.offset;
      const size_t bytes = std::min(static_cast<size_t>(piece.bytes), content.size() - from);
      if (bytes == 0) return;
      std::memcpy(&expected_[static_cast<size_t>(to)], &content[from], bytes);
      if (to_memory) std::memcpy(memory_ + to, &content[from], bytes);
      from += bytes;
    }
  }
}

void Area::fill(uint64_t seed, int noise) {
  const uint64_t first = hash_of(seed, noise);
  for (size_t i = 0; i < expected_.size(); i++) expected_[i] = static_cast<unsigned char>(first + i * 37);
  std::memcpy(memory_, expected_.data(), expected_.size());
  for (const Block& block : blocks_)
    if (block.is_input && block.count > 0) write(block, block.content(seed), true);
  for (const Block& block : blocks_)
    if (!block.is_input && !block.is_undefined && block.content && block.count > 0)
      write(block, block.content(seed), false);
}

/// Takes what MPI leaves open as it is.
void Area::accept(const Block& block) {
  if (block.count == 0) return;
  const long first = zero_ + block.displacement + block.layout.first();
  const long last = zero_ + block.displacement + block.layout.last(block.count);
  const Bytes kept(expected_.begin() + first, expected_.begin() + last);
  std::copy(memory_ + first, memory_ + last, expected_.begin() + first);
  if (block.is_undefined) return;
  for (long i = 0; i < block.count; i++) {
    for (const Piece& piece : block.layout.pieces) {
      const long at = zero_ + block.displacement + i * block.layout.extent + piece.offset;
      std::copy_n(kept.begin() + (at - first), piece.bytes, expected_.begin() + at);
    }
  }
}

std::string Area::difference() {
  for (const Block& block : blocks_)
    if (block.is_undefined || block.may_fill_gaps) accept(block);
  if (std::memcmp(memory_, expected_.data(), expected_.size()) == 0) return {};
  size_t first = expected_.size(), count = 0;
  for (size_t i = 0; i < expected_.size(); i++) {
    if (memory_[i] == expected_[i]) continue;
    first = std::min(first, i);
    count++;
  }
  char text[200];
  std::snprintf(text, sizeof text, "%zu of %ld bytes differ, the first at %ld: 0x%02x instead of 0x%02x", count,
                high_ - low_, static_cast<long>(first) - zero_, memory_[first], expected_[first]);
  return text;
}
