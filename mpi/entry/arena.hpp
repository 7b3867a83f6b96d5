// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace antiphon::mpi {

/// Memory that grows and is kept, 64-byte aligned, not initialised.
class Arena {
 public:
  /// At least `bytes`; what an earlier call returned is no longer valid.
  std::byte* get(std::int64_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t capacity_bytes_ = 0;
};

}  // namespace antiphon::mpi
