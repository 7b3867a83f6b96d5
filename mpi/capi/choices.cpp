// SPDX-License-Identifier: Apache-2.0
// These functions implement the part of antiphon.h about choices.
#include <cstring>
#include <string>

#include "antiphon.h"
#include "entry/comm_state.hpp"
#include "entry/overriding.hpp"
#include "job/library.hpp"
#include "job/world.hpp"

using namespace antiphon;
using namespace antiphon::mpi;

extern "C" ANTIPHON_EXPORT int antiphon_impl_version(void) {
  return ANTIPHON_VERSION_MAJOR * 10000 + ANTIPHON_VERSION_MINOR * 100 + ANTIPHON_VERSION_PATCH;
}

extern "C" ANTIPHON_EXPORT int antiphon_impl_enable(MPI_Comm comm, const char* collective, int enabled) {
  return override_choice(comm, collective, enabled != 0 ? "auto" : "library");
}

extern "C" ANTIPHON_EXPORT int antiphon_impl_force(MPI_Comm comm, const char* collective, const char* choice) {
  return override_choice(comm, collective, choice);
}

extern "C" ANTIPHON_EXPORT int antiphon_impl_chosen(MPI_Comm comm, const char* collective, char* text,
                                                    size_t capacity) {
  if (!world.active) return ANTIPHON_ABSENT;
  CommState* state = CommState::of(comm);
  if (state == nullptr) return ANTIPHON_BAD_COMM;
  const auto which = collectives_named(collective);
  if (which.size() != 1 || capacity == 0) return ANTIPHON_BAD_NAME;
  const std::string* used = state->decisions().used(which[0]);
  const std::string what = used != nullptr ? *used : world.watches(which[0]) ? "none" : "library";
  std::strncpy(text, what.c_str(), capacity - 1);
  text[capacity - 1] = '\0';
  return ANTIPHON_OK;
}
