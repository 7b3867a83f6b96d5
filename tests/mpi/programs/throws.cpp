// SPDX-License-Identifier: Apache-2.0
// Broadcasts, some of which arrive damaged, with an error handler that throws. Prints the class of what was thrown, and
// how often the handler was called.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

int calls = 0;

struct Failed : std::runtime_error {
  explicit Failed(int code_given) : std::runtime_error("an MPI error"), code(code_given) {}
  int code;
};

void throw_it(MPI_Comm*, int* code, ...) {
  ++calls;
  throw Failed(*code);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(throw_it, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  std::vector<double> data(8192, 1.5);
  for (int call = 0; call < 20; ++call) {
    try {
      MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, call % 2, MPI_COMM_WORLD);
    } catch (const Failed& failed) {
      int error_class = MPI_SUCCESS;
      MPI_Error_class(failed.code, &error_class);
      std::printf("%s after %d\n", error_class == MPI_ERR_NO_MEM ? "no memory" : "another error", calls);
      calls = 0;
    }
  }
  MPI_Finalize();
}
