// SPDX-License-Identifier: Apache-2.0
#include "job/static_variables.hpp"

/// The compiler calls this to have a static variable destroyed at exit. The object's own one, which nobody else sees,
/// forgets that.
extern "C" [[gnu::visibility("hidden")]] int __cxa_atexit(void (*)(void*), void*, void*) noexcept { return 0; }

namespace antiphon::mpi {

namespace {

constinit bool exist = false;
/// All variables of the object are constructed in one go, this one among them.
struct Last {
  Last() { exist = true; }
} last;

}  // namespace

bool static_variables_exist() { return exist; }

}  // namespace antiphon::mpi
