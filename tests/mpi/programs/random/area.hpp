// SPDX-License-Identifier: Apache-2.0
// A buffer of a call: what is in it before, and what must be in it after.
#pragma once

#include <functional>
#include <string>

#include "layout.hpp"

/// The bytes of a block's elements, without gaps, for the seed of one call.
using Content = std::function<Bytes(uint64_t seed)>;

struct Block {
  Layout layout;
  long count = 0;
  long displacement = 0;
  Content content{};
  bool is_input = true;
  bool may_fill_gaps = false;  // of elements that reductions copy whole
  bool is_undefined = false;   // what MPI leaves open
};

class Area {
 public:
  Area() = default;
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  ~Area();

  void add(Block block) { blocks_.push_back(std::move(block)); }
  /// Leaves blocks as they are.
  void silence(const std::function<bool(size_t index)>& is_silent) {
    for (size_t i = 0; i < blocks_.size(); i++)
      if (is_silent(i)) blocks_[i].content = nullptr;
  }
  /// Room for all blocks, with guards around it.
  void allocate(Rng& rng);
  /// Noise, the blocks of this call that go in, and what is expected at its end.
  void fill(uint64_t seed, int noise = 0);
  /// Sets what a block is to hold.
  void expect(const Block& block, const Bytes& content) { write(block, content, false); }
  /// What differs, or nothing.
  std::string difference();
  /// Where displacement 0 is.
  [[nodiscard]] void* at() const { return memory_ == nullptr ? nullptr : memory_ + zero_; }
  [[nodiscard]] bool is_empty() const { return low_ == high_; }
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  [[nodiscard]] long bytes() const { return high_ - low_; }

 private:
  void write(const Block& block, const Bytes& content, bool to_memory);
  void accept(const Block& block);

  std::vector<Block> blocks_;
  unsigned char* memory_ = nullptr;
  long low_ = 0, high_ = 0, zero_ = 0;
  Bytes expected_;
};
