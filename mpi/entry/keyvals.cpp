// SPDX-License-Identifier: Apache-2.0
#include "entry/keyvals.hpp"

#include <dlfcn.h>

#include <mutex>
#include <unordered_map>

#include "job/library.hpp"

namespace antiphon::mpi {

namespace {

thread_local bool without_attributes = false;

/// The program's copy functions by keyval. A library gives no number again while an attribute has it.
struct CopyFunctions {
  std::mutex mutex;
  std::unordered_map<int, MPI_Comm_copy_attr_function*> of_keyval;
};

CopyFunctions& copy_functions() {
  static CopyFunctions all;
  return all;
}

int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* value, void* copy, int* flag) {
  *flag = 0;
  if (without_attributes) return MPI_SUCCESS;
  MPI_Comm_copy_attr_function* of_program = nullptr;
  {
    CopyFunctions& all = copy_functions();
    const std::scoped_lock lock(all.mutex);
    of_program = all.of_keyval.at(keyval);
  }
#if defined(ANTIPHON_ABI_MPIABI)
  // Elsewhere the constant is the address of a function.
  if (of_program == MPI_COMM_DUP_FN) {
    *static_cast<void**>(copy) = value;
    *flag = 1;
    return MPI_SUCCESS;
  }
#endif
  return of_program(comm, keyval, extra, value, copy, flag);
}

/// MPICH's Fortran bindings hand over functions that only they can call.
bool may_be_fortran() {
#if defined(ANTIPHON_ABI_OPENMPI)
  return false;
#else
  return dlsym(RTLD_DEFAULT, "mpi_comm_create_keyval_") != nullptr;
#endif
}

}  // namespace

WithoutAttributes::WithoutAttributes() { without_attributes = true; }
WithoutAttributes::~WithoutAttributes() { without_attributes = false; }

bool create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, int* keyval, void* extra,
                   int& result) {
  if (copy == MPI_COMM_NULL_COPY_FN || may_be_fortran()) return false;
  result = PMPI_Comm_create_keyval(copy_attribute, remove, keyval, extra);
  if (result != MPI_SUCCESS) return true;
  CopyFunctions& all = copy_functions();
  const std::scoped_lock lock(all.mutex);
  all.of_keyval[*keyval] = copy;
  return true;
}

}  // namespace antiphon::mpi
