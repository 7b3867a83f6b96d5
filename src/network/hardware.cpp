// SPDX-License-Identifier: Apache-2.0
#include "network/hardware.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdio>
#include <memory>
#include <string_view>

#include "antiphon/text.hpp"

namespace antiphon::network {

namespace {

constexpr int ethernet_type = 1;  // ARPHRD_ETHER; InfiniBand's interfaces have 32
/// ARPHRD_LOOPBACK: a node that routes for itself may have its address there, and any interface below.
constexpr int loopback_type = 772;
constexpr int most_levels = 4;  // of a VLAN on a bond on a port
constexpr double bits_of_gigabit = 1e9;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const open = opendir(directory.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_directory(const std::string& path) {
  DIR* const open = opendir(path.c_str());
  return open != nullptr && closedir(open) == 0;
}

/// Returns where a link leads, or nothing if there is no such link.
std::string target_of(const std::string& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

std::int64_t speed_bits_per_s(const std::string& interface) {
  const long long mbit = number_in(interface + "/speed").value_or(0);
  return mbit > 0 ? mbit * 1'000'000 : 0;
}

/// Returns the first processor's flags. The system writes /proc/cpuinfo while it is read, processor by processor.
std::string processor_flags(const std::string& root) {
  const std::string path = root + "/proc/cpuinfo";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  std::array<char, 4096> part{};
  std::string line;
  while (file != nullptr && std::fgets(part.data(), part.size(), file.get()) != nullptr) {
    line += part.data();
    if (!line.ends_with('\n')) continue;
    if (line.starts_with("flags") || line == "\n") break;
    line.clear();
  }
  return line;
}

/// Returns the interfaces below a bond, a bridge or a VLAN.
std::vector<std::string> ports_below(const std::string& directory) {
  constexpr std::string_view prefix = "lower_";
  std::vector<std::string> ports;
  for (const std::string& entry : names_in(directory)) {
    if (entry.starts_with(prefix)) ports.push_back(entry.substr(prefix.size()));
  }
  return ports;
}

/// Returns what one connection over a bond carries: that of its slowest port. 0: all that the bond does.
std::int64_t connection_over_bond(const std::string& root, const std::string& path) {
  const std::string mode = first_line_of(root + path + "/bonding/mode");
  // One port carries everything, or each connection's packets take turns on all.
  if (mode.starts_with("active-backup") || mode.starts_with("balance-rr")) return 0;
  std::int64_t slowest = 0;
  for (const std::string& port : ports_below(root + path)) {
    const std::int64_t rate = speed_bits_per_s(root + "/sys/class/net/" + port);
    if (rate > 0 && (slowest == 0 || rate < slowest)) slowest = rate;  // a port that is down carries nothing
  }
  return slowest;
}

/// Drivers of interfaces that a host makes for its virtual machines, or a cloud for all that it lends; "vif" is Xen's.
constexpr std::array<std::string_view, 7> hosts_drivers{"ena", "gve",        "hv_netvsc", "mana",
                                                        "vif", "virtio_net", "vmxnet3"};

bool has_hosts_driver(const std::string& root, const std::string& name) {
  const std::string driver = target_of(root + "/sys/class/net/" + name + "/device/driver");
  return std::find(hosts_drivers.begin(), hosts_drivers.end(), driver.substr(driver.rfind('/') + 1)) !=
         hosts_drivers.end();
}

struct Rate {
  std::int64_t bits_per_s = 0;
  std::int64_t connection_bits_per_s = 0;  ///< 0: a connection fills the link
  std::string source;
  bool claimed = false;  ///< the driver says that a host has made the port
};

/// A virtual interface reports a nominal speed that means nothing; what counts is the slowest interface below it. That
/// of a bond is the sum of its ports'.
Rate rate_of(const std::string& root, const std::string& name, int levels) {
  const std::string path = "/sys/class/net/" + name;
  const bool is_bond = is_directory(root + path + "/bonding");
  if (is_bond || is_directory(root + path + "/device")) {
    const std::int64_t rate = speed_bits_per_s(root + path);
    const std::vector<std::string> ports = is_bond ? ports_below(root + path) : std::vector{name};
    return {.bits_per_s = rate,
            .connection_bits_per_s = is_bond ? connection_over_bond(root, path) : 0,
            .source = path + (rate > 0 ? "/speed" : "/speed does not say"),
            .claimed = std::any_of(ports.begin(), ports.end(),
                                   [&](const std::string& port) { return has_hosts_driver(root, port); })};
  }
  Rate slowest{.source = name + " is virtual and has no rate of its own"};
  bool first = true;
  for (const std::string& port : levels > 0 ? ports_below(root + path) : std::vector<std::string>{}) {
    Rate lower = rate_of(root, port, levels - 1);
    if (first || lower.bits_per_s < slowest.bits_per_s) slowest = std::move(lower);
    first = false;
  }
  return slowest;
}

/// Reads "100 Gb/sec (4X EDR)".
std::int64_t rate_of_text(const std::string& text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const char* const end = std::from_chars(text.data(), last, value).ptr;  // strtod() would heed the program's locale
  return std::string_view(end, last).substr(0, 3) == " Gb" ? static_cast<std::int64_t>(value * bits_of_gigabit) : 0;
}

void read_ports(Device& device, const std::string& root) {
  const std::string path = "/sys/class/infiniband/" + device.name;
  const std::string driver = target_of(root + path + "/device/driver");
  for (const std::string& port : names_in(root + path + "/ports")) {
    const std::string at = path + "/ports/" + port;
    if (first_line_of(root + at + "/state").rfind('4', 0) != 0) continue;  // not "4: ACTIVE"
    const std::int64_t rate = rate_of_text(first_line_of(root + at + "/rate"));
    if (device.bits_per_s == 0 || rate < device.bits_per_s) {
      device.bits_per_s = rate;
      device.source = at + "/rate";
    }
    if (device.kind.empty())
      device.kind = first_line_of(root + at + "/link_layer") == "Ethernet" ? "RDMA over Ethernet" : "InfiniBand";
  }
  if (driver.ends_with("/efa")) device.kind = "EFA";
  if (device.kind.empty()) device.kind = "RDMA";
}

/// These files belong to networks with drivers of their own.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> own_files{{{"/dev/cxi", "HPE Slingshot"},
                                                                                  {"/dev/hfi1_", "Omni-Path"},
                                                                                  {"/dev/ipath", "True Scale"},
                                                                                  {"/dev/kgni", "Cray Aries"},
                                                                                  {"/dev/bxi", "BXI"},
                                                                                  {"/dev/tofu", "Tofu"},
                                                                                  {"/dev/usnic", "usNIC"}}};

/// Fills in the rate of a device whose driver also has a network interface, as Slingshot's.
void read_net(Device& device, const std::string& root, const std::string& path) {
  for (const std::string& name : names_in(root + path + "/device/net")) {
    device.bits_per_s = speed_bits_per_s(root + path + "/device/net/" + name);
    device.source = path + "/device/net/" + name + "/speed";
  }
}

Device device_of_file(const std::string& root, const std::string& file) {
  constexpr std::string_view verbs = "/dev/infiniband/uverbs";
  const std::string name = file.substr(file.rfind('/') + 1);
  Device device;
  if (file.rfind(verbs, 0) == 0) {
    device.name = first_line_of(root + "/sys/class/infiniband_verbs/" + name + "/ibdev");
    if (device.name.empty()) device.name = name;
    read_ports(device, root);
    return device;
  }
  for (const auto& [prefix, kind] : own_files) {
    if (file.rfind(prefix, 0) != 0) continue;
    device.name = name;
    device.kind = kind;
    if (is_directory(root + "/sys/class/infiniband/" + name)) read_ports(device, root);
    if (device.bits_per_s == 0) read_net(device, root, "/sys/class/" + std::string(prefix.substr(5)) + "/" + name);
  }
  return device;
}

}  // namespace

Machine read_machine(const std::string& root) {
  return {first_line_of(root + "/proc/sys/kernel/random/boot_id"), Cores::of_this_process()};
}

bool is_virtual_machine(const std::string& root) {
  if (!first_line_of(root + "/sys/hypervisor/type").empty()) return true;
  // The processors of arm64 have no such flag.
  if (first_line_of(root + "/sys/class/dmi/id/sys_vendor") == "QEMU") return true;
  const std::string flags = processor_flags(root);
  const std::vector<std::string> words = words_of(flags);
  return std::find(words.begin(), words.end(), "hypervisor") != words.end() ||
         is_directory(root + "/proc/device-tree/hypervisor");
}

Interface read_interface(const std::string& root, const std::string& name, bool virtual_machine) {
  Interface found{.name = name};
  if (const auto type = number_in(root + "/sys/class/net/" + name + "/type"))
    found.ethernet = *type == ethernet_type || *type == loopback_type;
  Rate rate = rate_of(root, name, most_levels);
  found.bits_per_s = rate.bits_per_s;
  found.connection_bits_per_s = rate.connection_bits_per_s;
  found.source = std::move(rate.source);
  found.claimed = (virtual_machine || rate.claimed) && found.bits_per_s > 0;
  if (found.claimed) found.source += " of a virtual machine";
  return found;
}

std::vector<std::string> link_targets(const std::string& directory) {
  std::vector<std::string> targets;
  for (const std::string& name : names_in(directory)) {
    std::string target = target_of(directory + "/" + name);
    if (!target.empty()) targets.push_back(std::move(target));
  }
  return targets;
}

std::vector<Device> open_devices(const std::string& root, const std::string& files) {
  std::vector<Device> devices;
  for (const std::string& file : link_targets(files)) {
    if (file.rfind("/dev/", 0) != 0) continue;
    Device device = device_of_file(root, file);
    const auto same = [&](const Device& other) { return other.name == device.name; };
    if (!device.name.empty() && std::none_of(devices.begin(), devices.end(), same))
      devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace antiphon::network
