// SPDX-License-Identifier: Apache-2.0
// Fortran constants that are variables with a known address.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "job/library.hpp"

namespace antiphon::mpi {

/// The addresses under which a Fortran constant is known: each compiler's spelling of its common block, and, where
/// Fortran code sits in objects that were loaded privately, possibly one copy per object.
class Sentinel {
 public:
  Sentinel(std::initializer_list<const char*> symbols) {
    for (const char* symbol : symbols) {
      count_ += find_symbol(symbol, addresses_.data() + count_, static_cast<int>(addresses_.size()) - count_);
    }
  }
  [[nodiscard]] bool is(const void* address) const {
    return std::find(addresses_.begin(), addresses_.begin() + count_, address) != addresses_.begin() + count_;
  }

 private:
  std::array<void*, 16> addresses_{};
  int count_ = 0;
};

}  // namespace antiphon::mpi
