// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <utility>

namespace antiphon::mpi {

/// Keeps values under numbers from 1 to `most`, given out in turn. A number that is still in use is passed over.
template <class Value>
class Numbered {
 public:
  explicit Numbered(int most) : most_(most) {}

  /// Returns the value's number, or 0 if all numbers are in use; then the value is not moved from.
  int put(Value&& value) {
    if (values_.size() == static_cast<std::size_t>(most_)) return 0;
    do last_ = last_ == most_ ? 1 : last_ + 1;
    while (values_.contains(last_));
    values_.emplace(last_, std::move(value));
    return last_;
  }

  /// Moves the value of this number out; returns false if there is none.
  bool take(int number, Value& out) {
    const auto found = values_.find(number);
    if (found == values_.end()) return false;
    out = std::move(found->second);
    values_.erase(found);
    return true;
  }

  /// Calls a function for each value.
  template <class Function>
  void each(Function function) {
    for (auto& [number, value] : values_) function(value);
  }

  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  int most_;
  int last_ = 0;
  std::map<int, Value> values_;
};

}  // namespace antiphon::mpi
