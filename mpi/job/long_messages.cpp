// SPDX-License-Identifier: Apache-2.0
#include "job/long_messages.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "antiphon/text.hpp"
#include "job/environment.hpp"
#include "job/library.hpp"
#include "network/hardware.hpp"

namespace antiphon::mpi {

namespace {

/// A message is sent at once if it fits into the buffer that every receiver has for a piece (btl_tcp_max_send_size).
/// Other parameters would help longer ones, but a rank without them crashes one with them.
constexpr const char* parameter = "OMPI_MCA_btl_tcp_eager_limit";
constexpr const char* value = "131072";
constexpr const char* about = "long messages";
bool is_set = false;
/// Who sets any of these knows more.
constexpr std::string_view of_user = "btl_tcp_";
constexpr std::array about_messages{"eager_limit", "rndv_eager_limit", "max_send_size",
                                    "flags",       "rdma_pipeline",    "min_rdma"};
/// On faster links TCP recovers too slowly from what ports lose where several such messages come in at once.
constexpr std::int64_t most_bits_per_s = 500'000'000;

/// Tells whether a text sets a parameter for messages over TCP, which stands behind `prefix`.
bool is_about_messages(std::string_view text, std::string_view prefix) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  if (!text.starts_with(of_user)) return false;
  text.remove_prefix(of_user.size());
  return std::any_of(about_messages.begin(), about_messages.end(), [&](auto name) { return text.starts_with(name); });
}

/// Returns the files in which Open MPI looks for parameters by default.
std::vector<std::string> parameter_files() {
  std::vector<std::string> files{variable("HOME") + "/.openmpi/mca-params.conf",
                                 "/etc/openmpi/openmpi-mca-params.conf"};
  Dl_info library_file{};
  if (dladdr(reinterpret_cast<void*>(library.Init), &library_file) != 0) {
    const auto folder = std::filesystem::path(library_file.dli_fname).parent_path();
    files.push_back((folder.parent_path() / "etc" / "openmpi-mca-params.conf").string());
  }
  return files;
}

/// Returns the user's variable or file that sets such a parameter, or nothing.
std::string set_by() {
  const auto is_wanted = [](std::string_view text) { return is_about_messages(text, "OMPI_MCA_"); };
  if (std::string name = name_of_variable(is_wanted); !name.empty()) return name;
  for (const std::string& file : parameter_files()) {
    const std::vector<std::string> lines = lines_of_file(file);
    if (std::any_of(lines.begin(), lines.end(), [](const std::string& line) { return is_about_messages(line, ""); }))
      return file;
  }
  return "";
}

/// Returns the rate of the node's fastest interface; 0: none is known.
std::int64_t fastest_bits_per_s() {
  if (const std::string told = variable("ANTIPHON_LINK_BITS_PER_S"); !told.empty())
    return std::strtoll(told.c_str(), nullptr, 10);
  const std::string root = variable("ANTIPHON_SYSTEM_ROOT");
  std::int64_t fastest = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/sys/class/net", none))
    fastest = std::max(fastest, network::read_interface(root, entry.path().filename().string()).bits_per_s);
  return fastest;
}

/// Returns why the library's defaults stay, or nothing.
std::string why_not() {
  if (const std::string by = set_by(); !by.empty()) return "set by " + by;
  const std::int64_t rate = fastest_bits_per_s();
  if (rate == 0) return "the link's rate is unknown at the start";
  return rate > most_bits_per_s ? "a link above 500 Mb/s" : "";
}

}  // namespace

Fact send_long_messages_at_once(const std::string& switched_off_by) {
  if (!switched_off_by.empty()) return {about, "as the library does", switched_off_by};
  if (const std::string why = why_not(); !why.empty()) return {about, "as the library sends them", why};
  setenv(parameter, value, 1);
  is_set = true;
  return {about, "sent at once up to 128 KiB", "by default"};
}

void forget_long_messages() {
  if (is_set) unsetenv(parameter);
  is_set = false;
}

}  // namespace antiphon::mpi
