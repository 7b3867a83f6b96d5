// SPDX-License-Identifier: Apache-2.0
// Some Fortran constants are variables with a known address.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "job/library.hpp"

namespace antiphon::mpi {

/// Knows the addresses of a Fortran constant: each compiler's spelling of its common block, and possibly one copy in
/// each object that was loaded privately with Fortran code.
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
