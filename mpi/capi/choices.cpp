// SPDX-License-Identifier: Apache-2.0
// What stands behind antiphon.h, and the MPI_Info keys of the same meaning.
#include "antiphon.h"

#include <cstring>
#include <string>
#include <vector>

#include "antiphon/error.hpp"
#include "call/call.hpp"
#include "entry/comm_state.hpp"
#include "job/library.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// The collectives that a name means; NULL means all. Empty: no such name.
std::vector<Collective> collectives_named(const char* text) {
  std::vector<Collective> found;
  for (int c = 0; c < collective_count; ++c) {
    if (text == nullptr || name(static_cast<Collective>(c)) == text) found.push_back(static_cast<Collective>(c));
  }
  return found;
}

int force(MPI_Comm comm, const char* collective, const char* choice) {
  if (!world.active) return ANTIPHON_ABSENT;
  CommState* state = CommState::of(comm);
  if (state == nullptr) return ANTIPHON_BAD_COMM;
  const auto which = collectives_named(collective);
  if (which.empty() || choice == nullptr) return ANTIPHON_BAD_NAME;
  try {
    for (const Collective c : which) state->set_override(c, parse_override(c, choice));
  } catch (const Error&) {
    return ANTIPHON_BAD_NAME;
  }
  return ANTIPHON_OK;
}

}  // namespace

void apply_info(MPI_Comm comm, MPI_Info info) {
  if (!world.active || info == MPI_INFO_NULL || comm == MPI_COMM_NULL) return;
  char value[MPI_MAX_INFO_VAL];
  int found = 0;
  constexpr int longest = 255;
  PMPI_Info_get(info, "antiphon_enable", longest, value, &found);
  if (found != 0) force(comm, nullptr, std::strcmp(value, "false") == 0 ? "library" : "auto");
  for (int c = 0; c < collective_count; ++c) {
    const std::string collective(name(static_cast<Collective>(c)));
    PMPI_Info_get(info, ("antiphon_" + collective).c_str(), longest, value, &found);
    if (found == 0) continue;
    if (force(comm, collective.c_str(), value) == ANTIPHON_BAD_NAME)
      warn("info key antiphon_" + collective + ": \"" + value + "\" means nothing; ignored");
  }
}

}  // namespace antiphon::mpi

using namespace antiphon;
using namespace antiphon::mpi;

extern "C" ANTIPHON_EXPORT int antiphon_impl_version(void) {
  return ANTIPHON_VERSION_MAJOR * 10000 + ANTIPHON_VERSION_MINOR * 100 + ANTIPHON_VERSION_PATCH;
}

extern "C" ANTIPHON_EXPORT int antiphon_impl_enable(MPI_Comm comm, const char* collective, int enabled) {
  return force(comm, collective, enabled != 0 ? "auto" : "library");
}

extern "C" ANTIPHON_EXPORT int antiphon_impl_force(MPI_Comm comm, const char* collective, const char* choice) {
  return force(comm, collective, choice);
}

extern "C" ANTIPHON_EXPORT int antiphon_impl_chosen(MPI_Comm comm, const char* collective, char* text,
                                                    size_t capacity) {
  if (!world.active) return ANTIPHON_ABSENT;
  CommState* state = CommState::of(comm);
  if (state == nullptr) return ANTIPHON_BAD_COMM;
  const auto which = collectives_named(collective);
  if (which.size() != 1 || capacity == 0) return ANTIPHON_BAD_NAME;
  const std::string* used = state->used(which[0]);
  const std::string what = used != nullptr ? *used : world.idle ? "library" : "none";
  std::strncpy(text, what.c_str(), capacity - 1);
  text[capacity - 1] = '\0';
  return ANTIPHON_OK;
}
