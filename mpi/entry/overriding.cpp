// SPDX-License-Identifier: Apache-2.0
#include "entry/overriding.hpp"

#include <cstring>
#include <string>

#include "antiphon.h"
#include "antiphon/error.hpp"
#include "antiphon/overrides.hpp"
#include "entry/comm_state.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

std::vector<Collective> collectives_named(const char* text) {
  std::vector<Collective> found;
  for (int c = 0; c < collective_count; ++c) {
    if (text == nullptr || name(static_cast<Collective>(c)) == text) found.push_back(static_cast<Collective>(c));
  }
  return found;
}

int override_choice(MPI_Comm comm, const char* collective, const char* choice) {
  if (!world.active) return ANTIPHON_ABSENT;
  CommState* state = CommState::of(comm);
  if (state == nullptr) return ANTIPHON_BAD_COMM;
  const auto which = collectives_named(collective);
  if (which.empty() || choice == nullptr) return ANTIPHON_BAD_NAME;
  try {
    std::vector<Override> overrides;
    for (const Collective c : which) overrides.push_back(parse_override(c, choice, usual_credit_parameters()));
    for (std::size_t i = 0; i < which.size(); ++i) state->decisions().set_override(which[i], overrides[i]);
  } catch (const Error&) {
    return ANTIPHON_BAD_NAME;
  }
  return ANTIPHON_OK;
}

void apply_info(MPI_Comm comm, MPI_Info info) {
  if (!world.active || info == MPI_INFO_NULL || comm == MPI_COMM_NULL) return;
  char value[MPI_MAX_INFO_VAL];
  int found = 0;
  constexpr int longest = 255;
  PMPI_Info_get(info, "antiphon_enable", longest, value, &found);
  if (found != 0) override_choice(comm, nullptr, std::strcmp(value, "false") == 0 ? "library" : "auto");
  for (int c = 0; c < collective_count; ++c) {
    const std::string collective(name(static_cast<Collective>(c)));
    PMPI_Info_get(info, ("antiphon_" + collective).c_str(), longest, value, &found);
    if (found == 0) continue;
    if (override_choice(comm, collective.c_str(), value) == ANTIPHON_BAD_NAME)
      warn("info key antiphon_" + collective + ": \"" + value + "\" means nothing; ignored");
  }
}

}  // namespace antiphon::mpi
