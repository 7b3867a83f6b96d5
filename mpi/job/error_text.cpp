// SPDX-License-Identifier: Apache-2.0
#include "job/error_text.hpp"

#include <mutex>

namespace antiphon::mpi {

int ErrorText::code(const std::string& text) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (code_ == class_ && PMPI_Add_error_code(class_, &code_) != MPI_SUCCESS) return class_;
  const std::string fits = text.substr(0, MPI_MAX_ERROR_STRING - 1);
  PMPI_Add_error_string(code_, fits.c_str());
  return code_;
}

int error_of_counts(const std::string& what) {
  static ErrorText counts(MPI_ERR_TRUNCATE);
  return counts.code("Antiphon: counts do not match: " + what);
}

}  // namespace antiphon::mpi
