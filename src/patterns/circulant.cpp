// SPDX-License-Identifier: Apache-2.0
#include "patterns/circulant.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "antiphon/error.hpp"

namespace antiphon {

Circulant::Circulant(int place, int size) : place_(place), size_(size) {
  q_ = std::bit_width(static_cast<unsigned>(size - 1));
  skips_.resize(static_cast<std::size_t>(q_) + 1);
  skips_.back() = size;
  for (std::size_t k = skips_.size() - 1; k > 0; --k) skips_[k - 1] = (skips_[k] + 1) / 2;
  receives_ = receive_blocks(place);
  for (int k = 0; k < q_; ++k) {
    // What is sent in round k is what the place at its distance expects in round k; the root sends block after block.
    const auto index = static_cast<std::size_t>(k);
    sends_.push_back(place == 0 ? k : receive_blocks((place + skips_[index]) % size)[index]);
  }
}

int Circulant::base_block(int place) const {
  // A place is a sum of different skips; its first block is the one that started the last, smallest, of these steps.
  int rest = place;
  for (int k = q_ - 1; k >= 0; --k) {
    const int skip = skips_[static_cast<std::size_t>(k)];
    if (rest == skip) return k;
    if (rest > skip) rest -= skip;
  }
  return q_;
}

std::vector<int> Circulant::receive_blocks(int place) const {
  const int base = base_block(place);
  std::uint64_t unused = (std::uint64_t{1} << (q_ + 1)) - 1 - (std::uint64_t{1} << base);
  const auto below = [&](int e) { return std::bit_width(unused & ((std::uint64_t{1} << e) - 1)) - 1; };
  const auto skip = [&](int k) { return skips_[static_cast<std::size_t>(k)]; };
  // Round k brings the largest block, of those not yet brought, of a place between skip[k] and skip[k+1] behind. A walk
  // over sums of descending skips finds it; places are shifted by `size` so that nothing wraps.
  std::vector<int> blocks;
  std::vector<int> path{q_};
  int sum = size_;
  int tried = q_;
  int last = 2 * size_;  // the place found for the round before
  for (int k = 0; k < q_; ++k) {
    const int low = place + size_ - skip(k + 1);
    const int high = std::min(place + size_ - skip(k), last - 1);
    while (true) {
      const int deeper = below(tried);
      if (deeper >= 0 && sum <= low) {
        tried = deeper;
        path.push_back(tried);
        sum += skip(tried);
      } else if (sum > high && !path.empty()) {
        sum -= skip(path.back());
        path.pop_back();
      } else {
        break;
      }
    }
    if (sum < low || sum > high || path.empty())
      throw InvalidArgument("no circulant schedule for this number of ranks");
    const int found = path.back();
    last = sum;
    blocks.push_back(found == q_ ? base : found - q_);
    unused &= ~(std::uint64_t{1} << found);
    sum -= skip(found);
    path.pop_back();
    tried = found;
  }
  return blocks;
}

std::vector<Circulant::Round> Circulant::rounds(int blocks) const {
  std::vector<Round> result;
  if (q_ == 0) return result;
  const int idle = (q_ - (blocks - 1) % q_) % q_;  // rounds left out at the start, so that the last phase is complete
  const auto actual = [&](int block, int phase) { return std::min(block + phase * q_ - idle, blocks - 1); };
  for (int i = idle; i < blocks - 1 + q_ + idle; ++i) {
    const auto k = static_cast<std::size_t>(i % q_);
    Round round;
    const int to = (place_ + skips_[k]) % size_;
    if (to != 0 && actual(sends_[k], i / q_) >= 0) {
      round.to = to;
      round.send_block = actual(sends_[k], i / q_);
    }
    if (place_ != 0 && actual(receives_[k], i / q_) >= 0) {
      round.from = (place_ - skips_[k] + size_) % size_;
      round.recv_block = actual(receives_[k], i / q_);
    }
    result.push_back(round);
  }
  return result;
}

}  // namespace antiphon
