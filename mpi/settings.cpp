// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace antiphon::mpi {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::int64_t integer_variable(const char* name, std::int64_t otherwise) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (*end == '\0' && value >= 0) return value;
  warn(std::string(name) + "=" + text + " is not a number; ignored");
  return otherwise;
}

std::string read_file(const std::string& path, const std::string& what) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    warn("cannot read the " + what + " " + path + "; running without it");
    return "";
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of a profile, what runs need: its measurements would make every start carry them to all ranks. A text that is no profile stays
/// as it is, for whoever reads it to say what is wrong with it.
std::string decisions_of(const std::string& text) {
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("decisions")) return text;
  return nlohmann::json{{"decisions", document["decisions"]}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The speed of the fastest wired interface that is up, in bits per second; 0 if none says. Virtual interfaces report a
/// nominal speed that means nothing, so only those backed by a device count.
std::int64_t system_link_bits_per_s() {
  const std::string root = "/sys/class/net/";
  std::int64_t best = 0;
  DIR* directory = opendir(root.c_str());
  if (directory == nullptr) return 0;
  while (const dirent* entry = readdir(directory)) {
    const std::string interface = root + entry->d_name;
    std::ifstream speed_file(interface + "/speed");
    long long mbit = 0;
    DIR* device = opendir((interface + "/device").c_str());
    if (device != nullptr && speed_file >> mbit && mbit > best / 1000000) best = mbit * 1000000;
    if (device != nullptr) closedir(device);
  }
  closedir(directory);
  return best;
}

}  // namespace

void warn(const std::string& message) { std::fprintf(stderr, "antiphon: %s\n", message.c_str()); }

Settings read_settings() {
  Settings s;
  const std::string mode = variable("ANTIPHON");
  s.enabled = mode != "off" && mode != "0";
  if (!mode.empty() && mode != "off" && mode != "on" && mode != "0" && mode != "1") {
    warn("ANTIPHON=" + mode + " is neither on nor off; taken as on");
  }
  s.verbose = static_cast<int>(integer_variable("ANTIPHON_VERBOSE", 0));
  s.force = variable("ANTIPHON_FORCE");
  s.summary = variable("ANTIPHON_SUMMARY");
  if (s.summary == "0") s.summary.clear();
  const std::string profile = variable("ANTIPHON_PROFILE");
  if (!profile.empty()) s.profile = decisions_of(read_file(profile, "profile"));
  s.link_bits_per_s = integer_variable("ANTIPHON_LINK_BITS_PER_S", 0);
  if (s.link_bits_per_s == 0) s.link_bits_per_s = system_link_bits_per_s();
  const std::string plan = variable("ANTIPHON_PLAN");
  if (!plan.empty()) s.plan = read_file(plan, "plan");
  s.trace = variable("ANTIPHON_TRACE");
  s.trace_bytes = integer_variable("ANTIPHON_TRACE_BYTES", s.trace_bytes);
  s.yield = integer_variable("ANTIPHON_YIELD", 1) != 0;
  return s;
}

std::string serialize(const Settings& s) {
  return nlohmann::json{{"enabled", s.enabled}, {"verbose", s.verbose}, {"force", s.force},   {"summary", s.summary},
                        {"profile", s.profile}, {"link", s.link_bits_per_s}, {"yield", s.yield},
                        {"plan", s.plan},       {"trace", s.trace},     {"trace_bytes", s.trace_bytes}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Settings deserialize(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  Settings s;
  s.enabled = json.at("enabled");
  s.verbose = json.at("verbose");
  s.force = json.at("force");
  s.summary = json.at("summary");
  s.profile = json.at("profile");
  s.link_bits_per_s = json.at("link");
  s.yield = json.at("yield");
  s.plan = json.at("plan");
  s.trace = json.at("trace");
  s.trace_bytes = json.at("trace_bytes");
  return s;
}

}  // namespace antiphon::mpi
