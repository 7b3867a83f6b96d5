// SPDX-License-Identifier: Apache-2.0
#include "observe/written.hpp"

#include <cstdlib>

#include "job/warn.hpp"

namespace antiphon::mpi {

bool finish_output(OutputFile& file, const std::string& what, const std::string& path) {
  const std::string wrong = file.finish();
  if (wrong.empty()) return true;
  warn("cannot write the " + what + " to " + path + ": " + wrong);
  end_with_failure();
  return false;
}

void end_with_failure() {
  static bool asked = false;
  if (asked) return;
  asked = true;
  // In glibc, exit() within such a function goes on with the other functions, and the last exit code counts.
  on_exit(
      [](int code, void*) {
        if (code == 0) std::exit(EXIT_FAILURE);
      },
      nullptr);
}

}  // namespace antiphon::mpi
