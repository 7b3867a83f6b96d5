// SPDX-License-Identifier: Apache-2.0
// Finds requests by the library's handle with few cache lines; requests that come and go with every message allocate
// nothing.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace antiphon::mpi {

/// Maps handles to Value*, which the caller owns. It uses open addressing and leaves no marks behind.
template <class Value>
class Table {
 public:
  /// Returns the previous value under that handle.
  Value* put(MPI_Request handle, Value* value) {
    if (2 * (count_ + 1) > entries_.size()) grow();
    Entry& entry = entries_[place_of(handle)];
    if (entry.value == nullptr) ++count_;
    entry.handle = handle;
    return std::exchange(entry.value, value);
  }

  /// Removes the handle and returns its value; null if it is not there.
  Value* take(MPI_Request handle) {
    if (count_ == 0) return nullptr;
    std::size_t gap = place_of(handle);
    Value* const value = entries_[gap].value;
    if (value == nullptr) return nullptr;
    --count_;
    // The entries behind the gap move up, but not beyond their own place.
    for (std::size_t i = next(gap); entries_[i].value != nullptr; i = next(i)) {
      if (distance(home_of(entries_[i].handle), i) < distance(gap, i)) continue;
      entries_[gap] = entries_[i];
      gap = i;
    }
    entries_[gap].value = nullptr;
    return value;
  }

 private:
  struct Entry {
    MPI_Request handle;
    Value* value;  ///< null: the entry is empty
  };

  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (entries_.size() - 1); }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return (to - from) & (entries_.size() - 1);
  }
  /// Returns a hash, because handles are pointers in some libraries and integers in others.
  [[nodiscard]] std::size_t home_of(MPI_Request handle) const {
    std::uint64_t key = 0;
    static_assert(sizeof handle <= sizeof key);
    std::memcpy(&key, &handle, sizeof handle);
    return (key * 0x9e3779b97f4a7c15ULL >> 32) & (entries_.size() - 1);
  }
  /// Returns the place of the handle, or where it would be.
  [[nodiscard]] std::size_t place_of(MPI_Request handle) const {
    std::size_t i = home_of(handle);
    while (entries_[i].value != nullptr && entries_[i].handle != handle) i = next(i);
    return i;
  }

  void grow() {
    std::vector<Entry> old(entries_.empty() ? least : 2 * entries_.size());
    std::swap(old, entries_);
    for (const Entry& entry : old) {
      if (entry.value != nullptr) entries_[place_of(entry.handle)] = entry;
    }
  }

  static constexpr std::size_t least = 64;
  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

}  // namespace antiphon::mpi
