// SPDX-License-Identifier: Apache-2.0
#include "fortran.hpp"

#if ANTIPHON_ABI_OPENMPI

#include <algorithm>
#include <array>

namespace antiphon::mpi {

namespace {

/// The addresses under which a Fortran constant is known: each compiler's spelling of its common block, and, where Fortran
/// code sits in objects that were loaded privately, possibly one copy per object.
class Sentinel {
 public:
  explicit Sentinel(std::array<const char*, 4> symbols) {
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

}  // namespace

void* buffer_from_fortran(void* buffer) {
  static const Sentinel in_place({"mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"});
  static const Sentinel bottom({"mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"});
  if (in_place.is(buffer)) return MPI_IN_PLACE;
  if (bottom.is(buffer)) return MPI_BOTTOM;
  return buffer;
}

}  // namespace antiphon::mpi

#endif
