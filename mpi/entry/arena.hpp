// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace antiphon::mpi {

/// Holds memory that grows and is kept until it is given back, 64-byte aligned and not initialised.
class Arena {
 public:
  /// Returns at least `bytes` of memory; the result of an earlier call is then invalid.
  std::byte* get(std::int64_t bytes);
  /// Gives the memory back if there is more of it than `bytes`; what get() returned is then invalid.
  void keep_at_most(std::int64_t bytes);

 private:
  struct Free {
    std::byte* mapped;  ///< the mapping that the memory is part of; null: it comes from the heap
    std::size_t mapped_bytes;
    void operator()(std::byte* p) const;
  };
  using Memory = std::unique_ptr<std::byte, Free>;

  static Memory allocated(std::size_t bytes);
  static Memory mapped(std::size_t bytes);

  Memory memory_;
  std::int64_t capacity_bytes_ = 0;
};

}  // namespace antiphon::mpi
