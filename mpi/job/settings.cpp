// SPDX-License-Identifier: Apache-2.0
#include "job/settings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <type_traits>

#include "antiphon/settings.hpp"
#include "antiphon/text.hpp"
#include "json/json.hpp"

#include "job/environment.hpp"
#include "job/warn.hpp"
#include "network/rate.hpp"

namespace antiphon::mpi {

namespace {

/// Returns the variable's number; `check_variables` has found that it is one.
std::int64_t integer_variable(const char* name, std::int64_t otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : std::strtoll(text.c_str(), nullptr, 10);
}

double share_variable(const char* name) {
  const std::string text = variable(name);
  double share = 0;
  std::from_chars(text.data(), text.data() + text.size(), share);  // strtod() would heed the program's locale
  return share;
}

std::string word_variable(const char* name, const char* otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : text;
}

void read_multicast(Settings& s) {
  s.multicast = word_variable("ANTIPHON_MULTICAST", "auto");
  s.multicast_interface = variable("ANTIPHON_MULTICAST_INTERFACE");
  s.multicast_groups = static_cast<int>(integer_variable("ANTIPHON_MULTICAST_GROUPS", s.multicast_groups));
  constexpr std::int64_t least_timeout_ms = 200;  // of a group: four of its longest pauses (Description::check)
  s.multicast_timeout_ms =
      std::max(integer_variable("ANTIPHON_MULTICAST_TIMEOUT_MS", s.multicast_timeout_ms), least_timeout_ms);
  s.multicast_strategy = word_variable("ANTIPHON_MULTICAST_STRATEGY", "nack");
  s.multicast_keeper = integer_variable("ANTIPHON_MULTICAST_KEEPER", 1) != 0;
  s.multicast_loss = share_variable("ANTIPHON_MULTICAST_LOSS");
  s.multicast_seed = static_cast<std::uint64_t>(integer_variable("ANTIPHON_MULTICAST_SEED", 1));
}

void read_waiting(Settings& s) {
  s.progress = word_variable("ANTIPHON_PROGRESS", "calls");
  s.shared_memory = word_variable("ANTIPHON_SHARED_MEMORY", "on");
  s.orders_messages = word_variable("ANTIPHON_ORDER_MESSAGES", "on") == "on";
  s.topology = word_variable("ANTIPHON_TOPOLOGY", "on");
  s.slurm_topology = std::getenv("SLURM_TOPOLOGY_ADDR") != nullptr;
  s.yield = integer_variable("ANTIPHON_YIELD", 1) != 0;
}

std::string read_file(const std::string& path, const std::string& what) {
  auto text = contents_of(path);
  if (!text) warn("cannot read the " + what + " " + path + "; running without it");
  return std::move(text).value_or("");
}

/// Returns the file that ANTIPHON_PROFILE names; empty without one.
Stored named_profile() {
  const std::string path = variable("ANTIPHON_PROFILE");
  if (path.empty()) return {};
  struct stat found{};
  return {path, read_file(path, "profile"), stat(path.c_str(), &found) == 0 ? found.st_mtime : 0};
}

/// Returns the part of a profile that the model and placing ranks need.
Json machine_of(Json profile) {
  for (const char* part : {"decisions", "measurements", "codecs"}) profile.erase(part);
  if (profile.contains("topology")) profile["topology"].erase("pairs");
  return profile;
}

/// Holds the facts of a profile that are needed here: whether codecs were measured, a node's rate and cores, and the
/// bytes that may be under way to it.
struct Measured {
  bool codecs = false;
  std::int64_t payload_bits_per_s = 0;  ///< of a node's link
  std::int64_t credit_bytes = 0;
  int cores_per_node = 0;
  int nodes_sharing = 1;
};

int integer_of(const Json& object, const char* key, int otherwise) {
  const Json* found = object.find(key);
  return found != nullptr && found->is_integer() ? found->get<int>() : otherwise;
}

Measured measured_by(const Json& document) {
  Measured m;
  const Json* codecs = document.find("codecs");
  m.codecs = codecs != nullptr && codecs->is_array() && !codecs->empty();
  const Json* contention = document.find("contention");
  const Json* credit = contention == nullptr ? nullptr : contention->find("credit_bytes");
  if (credit != nullptr && credit->is_integer()) m.credit_bytes = std::max<std::int64_t>(0, credit->as_integer());
  if (const Json* processors = document.find("processors")) {
    m.cores_per_node = integer_of(*processors, "cores_per_node", 0);
    m.nodes_sharing = integer_of(*processors, "nodes_sharing", 1);
  }
  const Json* topology = document.find("topology");
  const Json* nodes = topology == nullptr ? nullptr : topology->find("nodes");
  if (nodes == nullptr) return m;
  for (const Json& node : *nodes) {
    const Json* rate = node.find("port_bytes_per_s");
    if (rate == nullptr || !rate->is_number()) continue;
    const auto bits = static_cast<std::int64_t>(8 * rate->as_real());
    if (bits > 0) m.payload_bits_per_s = m.payload_bits_per_s == 0 ? bits : std::min(m.payload_bits_per_s, bits);
  }
  return m;
}

/// Keeps the part of a profile that runs need, because with its measurements every start would carry them to all ranks.
/// A text that is not a profile stays as it is, so that its reader can report what is wrong with it.
Measured take_profile(Settings& s, const Stored& file) {
  std::string text = file.text;
  s.profile_path = file.path;
  s.profile_modified_s = file.modified_s;
  Json document;
  try {
    document = Json::parse(text);
  } catch (const JsonError&) {
    document = nullptr;
  }
  const bool is_object = document.is_object();
  s.machine = is_object ? machine_of(document).dump() : text;
  const Json* decisions = document.find("decisions");
  s.profile = decisions != nullptr ? Json{{"decisions", *decisions}}.dump() : std::move(text);
  return is_object ? measured_by(document) : Measured{};
}

/// Resolves the default and "auto", which both mean "on" if the profile has measured codecs and links. Without that
/// the default is "off", and "auto" stays: codecs are measured at the start.
std::string compress_mode(const Measured& measured) {
  const std::string mode = variable("ANTIPHON_COMPRESS");
  if (mode.empty() || mode == "auto")
    return measured.codecs && measured.payload_bits_per_s > 0 ? "on" : mode.empty() ? "off" : mode;
  return mode == "1" ? "on" : mode == "0" ? "off" : mode;
}

/// Reads where the run's figures go.
void read_figures(Settings& s) {
  s.summary = variable("ANTIPHON_SUMMARY");
  if (s.summary == "0") s.summary.clear();
  s.metrics = variable("ANTIPHON_METRICS");
}

/// Reads what concerns compression, once the rate of the link is read.
void read_compression(Settings& s, const Measured& measured) {
  s.compress = compress_mode(measured);
  s.compress_link_bits_per_s = s.link_bits_per_s != 0 ? s.link_bits_per_s : measured.payload_bits_per_s;
  s.compress_threshold_bytes = integer_variable("ANTIPHON_COMPRESS_MIN_BYTES", s.compress == "force" ? 64 : 1024);
  s.compress_memory_bytes = integer_variable("ANTIPHON_COMPRESS_MEMORY_BYTES", s.compress_memory_bytes);
  s.compress_damage = integer_variable("ANTIPHON_COMPRESS_DAMAGE", 0);
  s.codec = word_variable("ANTIPHON_CODEC", "auto");
}

/// Reads an environment in which every setting makes sense. `profile` is null, or the store's.
Settings read_checked(const Stored* profile = nullptr) {
  Settings s;
  s.environment = own_settings();
  s.verbose = static_cast<int>(integer_variable("ANTIPHON_VERBOSE", 0));
  s.force = variable("ANTIPHON_FORCE");
  read_figures(s);
  s.reorder = integer_variable("ANTIPHON_REORDER", 0) != 0;
  s.nodes = variable("ANTIPHON_NODES");
  const std::string placement = variable("ANTIPHON_PLACEMENT");
  if (!placement.empty()) s.placement = read_file(placement, "placement");
  s.placement_strict = integer_variable("ANTIPHON_PLACEMENT_STRICT", 0) != 0;
  s.store = variable("ANTIPHON_STORE");
  const Stored file = profile != nullptr ? *profile : named_profile();
  Measured measured;
  if (!file.path.empty()) measured = take_profile(s, file);
  s.profile_source = profile != nullptr ? "found for these nodes" : "ANTIPHON_PROFILE";
  s.profile_link_bits_per_s = network::rate_of_payload(static_cast<double>(measured.payload_bits_per_s) / 8);
  s.link_bits_per_s = integer_variable("ANTIPHON_LINK_BITS_PER_S", 0);
  s.link_burst_bytes = integer_variable("ANTIPHON_LINK_BURST_BYTES", 0);
  s.model = variable("ANTIPHON_MODEL") != "off";
  s.credit_bytes = integer_variable("ANTIPHON_CREDIT_BYTES", measured.credit_bytes);
  const std::string plan = variable("ANTIPHON_PLAN");
  if (!plan.empty()) s.plan = read_file(plan, "plan");
  s.trace = variable("ANTIPHON_TRACE");
  s.trace_bytes = integer_variable("ANTIPHON_TRACE_BYTES", s.trace_bytes);
  s.finalize_s = integer_variable("ANTIPHON_FINALIZE_SECONDS", s.finalize_s);
  if (const std::string gpu = variable("ANTIPHON_GPU"); !gpu.empty()) s.gpu = gpu;
  s.adapt = word_variable("ANTIPHON_ADAPT", "keep");
  read_waiting(s);
  s.cores_per_node = measured.cores_per_node;
  s.nodes_sharing = measured.nodes_sharing;
  read_multicast(s);
  read_compression(s, measured);
  return s;
}

}  // namespace

Settings read_settings() {
  Settings s;
  s.enabled = !is_switched_off();
  if (!s.enabled) return s;
  const auto problems = check_variables(own_variables());
  if (problems.empty()) return read_checked();
  s.enabled = false;
  warn_left_alone(problems.front().what + " (" + problems.front().hint + ")");
  return s;
}

Settings read_settings_with(const Stored& profile) { return read_checked(&profile); }

namespace {

void each_multicast_setting(auto& settings, auto visit) {
  visit("multicast", settings.multicast);
  visit("multicast_interface", settings.multicast_interface);
  visit("multicast_groups", settings.multicast_groups);
  visit("multicast_timeout_ms", settings.multicast_timeout_ms);
  visit("multicast_strategy", settings.multicast_strategy);
  visit("multicast_keeper", settings.multicast_keeper);
  visit("multicast_loss", settings.multicast_loss);
  visit("multicast_seed", settings.multicast_seed);
}

void each_compression_setting(auto& settings, auto visit) {
  visit("compress", settings.compress);
  visit("compress_link_bits_per_s", settings.compress_link_bits_per_s);
  visit("compress_threshold_bytes", settings.compress_threshold_bytes);
  visit("compress_memory_bytes", settings.compress_memory_bytes);
  visit("compress_damage", settings.compress_damage);
  visit("codec", settings.codec);
}

/// Calls `visit` with the name and the value of every setting.
void each_setting(auto& settings, auto visit) {
  visit("enabled", settings.enabled);
  visit("verbose", settings.verbose);
  visit("force", settings.force);
  visit("summary", settings.summary);
  visit("metrics", settings.metrics);
  visit("profile", settings.profile);
  visit("profile_path", settings.profile_path);
  visit("profile_source", settings.profile_source);
  visit("profile_modified_s", settings.profile_modified_s);
  visit("profile_link_bits_per_s", settings.profile_link_bits_per_s);
  visit("store", settings.store);
  visit("link_bits_per_s", settings.link_bits_per_s);
  visit("credit_bytes", settings.credit_bytes);
  visit("plan", settings.plan);
  visit("trace", settings.trace);
  visit("trace_bytes", settings.trace_bytes);
  each_compression_setting(settings, visit);
  visit("cores_per_node", settings.cores_per_node);
  visit("nodes_sharing", settings.nodes_sharing);
  visit("reorder", settings.reorder);
  visit("machine", settings.machine);
  visit("link_burst_bytes", settings.link_burst_bytes);
  visit("model", settings.model);
  visit("nodes", settings.nodes);
  visit("placement", settings.placement);
  visit("placement_strict", settings.placement_strict);
  each_multicast_setting(settings, visit);
  visit("finalize_s", settings.finalize_s);
  visit("gpu", settings.gpu);
  visit("environment", settings.environment);
  visit("adapt", settings.adapt);
  visit("progress", settings.progress);
  visit("shared_memory", settings.shared_memory);
  visit("orders_messages", settings.orders_messages);
  visit("topology", settings.topology);
  visit("slurm_topology", settings.slurm_topology);
  visit("yield", settings.yield);
}

/// Paths may have any bytes, and JSON has characters only: each byte travels as the character with its number.
std::string characters_of(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

std::string bytes_of(const std::string& characters) {
  std::string bytes;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const auto first = static_cast<unsigned char>(characters[i]);
    bytes += first < 0x80 ? characters[i] : static_cast<char>(first << 6 | (characters[++i] & 0x3F));
  }
  return bytes;
}

}  // namespace

std::string serialize(const Settings& s) {
  Json all;
  each_setting(s, [&]<typename T>(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, std::string>) all[name] = characters_of(value);
    else all[name] = value;
  });
  return all.dump();
}

Settings deserialize(const std::string& text) {
  const Json all = Json::parse(text);
  Settings s;
  each_setting(s, [&]<typename T>(const char* name, T& value) {
    if constexpr (std::is_same_v<T, std::string>) value = bytes_of(all.at(name).as_string());
    else value = all.at(name).get<T>();
  });
  return s;
}

}  // namespace antiphon::mpi
