// SPDX-License-Identifier: Apache-2.0
#include "entry/overriding.hpp"

#include <string>
#include <string_view>

#include "antiphon.h"
#include "antiphon/error.hpp"
#include "antiphon/overrides.hpp"
#include "compress/messages.hpp"
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

namespace {

constexpr std::string_view prefix = "antiphon_";
constexpr std::string_view for_all = "antiphon_enable";

struct Key {
  std::string name;
  std::string value;
};

/// Returns the keys that are for Antiphon; the one for all collectives comes first, as the others are exceptions to it.
std::vector<Key> own_keys(MPI_Info info) {
  std::vector<Key> found;
  int count = 0;
  PMPI_Info_get_nkeys(info, &count);
  for (int i = 0; i < count; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
    int is_there = 0;
    constexpr int longest = 255;
    PMPI_Info_get_nthkey(info, i, key);
    if (!std::string_view(key).starts_with(prefix)) continue;
    PMPI_Info_get(info, key, longest, value, &is_there);
    if (is_there != 0) found.insert(key == for_all ? found.begin() : found.end(), {key, value});
  }
  return found;
}

/// Returns why a key is ignored; empty if it holds.
std::string apply_key(MPI_Comm comm, const Key& key) {
  const std::string no_such_value = ": \"" + key.value + "\" means nothing; ignored";
  if (key.name == for_all) {
    if (key.value != "true" && key.value != "false") return no_such_value;
    override_choice(comm, nullptr, key.value == "true" ? "auto" : "library");
    return "";
  }
  const std::string collective = key.name.substr(prefix.size());
  if (collectives_named(collective.c_str()).empty()) return " means nothing; ignored";
  const int code = override_choice(comm, collective.c_str(), key.value.c_str());
  return code == ANTIPHON_BAD_NAME ? no_such_value : "";
}

}  // namespace

void apply_info(MPI_Comm comm, MPI_Info info) {
  if (!world.active || info == MPI_INFO_NULL || comm == MPI_COMM_NULL) return;
  const auto messages = framing() ? Messages::existing(comm) : nullptr;
  if (messages) messages->read_promises();
  for (const Key& key : own_keys(info)) {
    const std::string why = apply_key(comm, key);
    if (why.empty()) continue;
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0) warn("info key " + key.name + why);
  }
}

}  // namespace antiphon::mpi
