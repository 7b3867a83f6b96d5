// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace antiphon {

/// A queue for use in great numbers, such as one for each pair of ranks: an unused queue owns no memory.
template <class Item>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return first_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - first_; }
  void push(Item item) { items_.push_back(std::move(item)); }
  [[nodiscard]] const Item& front() const { return items_[first_]; }
  Item pop() {
    Item item = std::move(items_[first_++]);
    if (empty()) {
      items_.clear();
      first_ = 0;
    }
    return item;
  }

 private:
  std::vector<Item> items_;
  std::size_t first_ = 0;
};

}  // namespace antiphon
