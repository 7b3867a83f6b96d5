// SPDX-License-Identifier: Apache-2.0
#include "job/profile_store.hpp"

#include <mpi.h>

#include <ctime>
#include <optional>

#include "antiphon/store.hpp"
#include "job/environment.hpp"
#include "job/library_traits.hpp"
#include "job/shared_text.hpp"
#include "job/warn.hpp"

namespace antiphon::mpi {

Recalled recalled;

namespace {

/// Where rank 0 found, and puts, what is known of these nodes.
struct Place {
  Store store;
  StoreKey key;
  StoreNetwork network;
  bool speaks;    ///< as ANTIPHON_VERBOSE says
  Learned fresh;  ///< what this run has learned
  bool changed = false;
};
std::optional<Place> place;

/// Puts learned rules before the profile's, or behind them where the profile is newer.
void add_decisions(Settings& settings, const Learned& learned, std::int64_t profile_s) {
  if (learned.decisions.is_null()) return;
  Learned all;
  const Json own = settings.profile.empty() ? Json::object() : Json::parse(settings.profile);
  if (const Json* decisions = own.find("decisions")) all.decisions = *decisions;
  Learned other = learned;
  if (profile_s > learned.saved_s) std::swap(all.decisions, other.decisions);
  all.merge(other);
  settings.profile = Json{{"decisions", all.decisions}}.dump();
}

/// Tells whether a profile that is found may be used: none says for sure by what its messages travelled, and TCP's
/// decisions are wrong for faster networks. Who names a rate says that those for TCP are right.
bool is_for_profiles(const Settings& settings, const StoreNetwork& network) {
  return network.transport != "other" || settings.link_bits_per_s != 0;
}

/// Fills in, on rank 0, the settings and what is recalled.
void look_up(Settings& settings) {
  std::vector<std::string> problems;
  std::int64_t profile_s = settings.profile_modified_s;
  if (settings.profile_path.empty()) {
    const auto found = place->store.find_profile(place->key, problems);
    if (found && is_for_profiles(settings, place->network)) {
      settings = read_settings_with(*found);
      profile_s = found->modified_s;
    } else if (found) {
      recalled.passed_over =
          found->path + " is passed over, since it may be of TCP over Ethernet; --profile uses it all the same";
    }
  }
  if (const auto learned = place->store.find_learned(place->key, place->network, problems)) {
    recalled.learned_path = learned->path;
    // A run that is not to learn does not follow what others have learned either.
    if (!learned->decisions.is_null() && settings.adapts()) {
      recalled.learned_decisions = learned->decisions.dump();
      recalled.learned_rules = static_cast<std::int64_t>(learned->decisions.at("rules").size());
    }
    if (!learned->evidence.is_null()) recalled.learned_evidence = learned->evidence.dump();
    if (learned->knows_link(std::time(nullptr))) {
      recalled.link_bits_per_s = learned->link_bits_per_s;
      recalled.connection_bits_per_s = learned->connection_bits_per_s;
      recalled.link_measured_s = learned->link_measured_s;
    }
    if (settings.adapts()) add_decisions(settings, *learned, profile_s);
  }
  if (place->speaks && !recalled.passed_over.empty()) warn(recalled.passed_over);
  for (const std::string& problem : problems)
    warn("passed over " + problem + " (hint: `antiphon profile forget` removes it)");
}

void each_field(auto& r, auto visit) {
  visit("passed_over", r.passed_over);
  visit("learned_path", r.learned_path);
  visit("learned_decisions", r.learned_decisions);
  visit("learned_evidence", r.learned_evidence);
  visit("learned_rules", r.learned_rules);
  visit("link_bits_per_s", r.link_bits_per_s);
  visit("connection_bits_per_s", r.connection_bits_per_s);
  visit("link_measured_s", r.link_measured_s);
}

/// Opens the store for these nodes and takes over what it has. The others wait for an answer, whatever happens here.
void look_up_safely(Settings& settings, const Seen& seen) {
  const Settings given = settings;
  try {
    const std::int64_t told = settings.link_bits_per_s != 0 ? settings.link_bits_per_s : seen.network.bits_per_s;
    const auto directories = Store::directories(settings.store, variable("XDG_CACHE_HOME"), variable("HOME"));
    place = Place{Store(directories), StoreKey(seen.hosts, library_name(), library_version()),
                  StoreNetwork{seen.network.transport, seen.network.interface, told}, settings.verbose >= 1};
    look_up(settings);
  } catch (const std::exception& error) {
    warn(std::string("what is known of these nodes is passed over: ") + error.what());
    settings = given;
    recalled = {};
  }
}

/// Adds something to what this run has learned. What no run could read again is not written.
void note(const auto& learn) {
  if (!place) return;
  try {
    const Learned learned = learn();
    (void)Learned::parse(learned.to_json().dump());
    place->fresh.merge(learned);
    place->changed = true;
  } catch (const std::exception& error) {
    if (place->speaks) warn(std::string("what was learned is not kept: ") + error.what());
  }
}

}  // namespace

network::Network recall(Settings& settings, const Seen& seen) {
  recalled = {};
  place.reset();
  std::string answer;
  if (!seen.hosts.empty()) {
    if (settings.store != "off") look_up_safely(settings, seen);
    Json all{{"settings", serialize(settings)}, {"network", to_json(seen.network)}};
    each_field(recalled, [&](const char* name, const auto& value) { all[name] = value; });
    all["machine_of_rank"] = Json(seen.network.machine_of_rank);
    answer = all.dump();
  }
  const Json all = Json::parse(from_rank_0(std::move(answer)));
  settings = deserialize(all.at("settings").as_string());
  each_field(recalled, [&]<typename T>(const char* name, T& value) { value = all.at(name).get<T>(); });
  network::Network network = network::network_from_json(all.at("network"));
  for (const Json& first : all.at("machine_of_rank"))
    network.machine_of_rank.push_back(static_cast<int>(first.as_integer()));
  return network;
}

void save_learned(std::string_view rules_json, std::string_view evidence_json) {
  note([&] {
    Learned learned;
    if (!rules_json.empty()) learned.decisions = Json::parse(rules_json);
    if (!evidence_json.empty()) learned.evidence = Json::parse(evidence_json);
    return learned;
  });
}

void save_measured_link(std::int64_t bits_per_s, std::int64_t connection_bits_per_s) {
  note([&] {
    return Learned{.link_bits_per_s = bits_per_s,
                   .connection_bits_per_s = connection_bits_per_s,
                   .link_measured_s = std::time(nullptr)};
  });
}

void write_learned() {
  if (!place || !place->changed) return;
  const std::string why = place->store.save_learned(place->key, place->network, place->fresh);
  if (!why.empty() && place->speaks)
    warn("what was learned is not kept: " + place->store.path_of(place->key) + ": " + why);
  place.reset();
}

}  // namespace antiphon::mpi
