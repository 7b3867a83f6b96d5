// SPDX-License-Identifier: Apache-2.0
// A directory that stands for a node's root, with the files in which the system describes its network.
#pragma once

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "network/hardware.hpp"

namespace antiphon::network {

inline constexpr std::int64_t gigabit = 1'000'000'000;

/// Removed at the end.
struct Root {
  Root() {
    std::string name = (std::filesystem::temp_directory_path() / "antiphon-root-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() { std::filesystem::remove_all(path); }
  void put(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + file).parent_path());
    std::ofstream(path + file) << text << '\n';
  }
  void link(const std::string& file, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(path + file).parent_path());
    std::filesystem::create_symlink(target, path + file);
  }
  /// Adds a wired port, as a driver shows it.
  void port(const std::string& name, const std::string& mbit, const std::string& type = "1") const {
    std::filesystem::create_directories(path + "/sys/class/net/" + name + "/device");
    put("/sys/class/net/" + name + "/speed", mbit);
    put("/sys/class/net/" + name + "/type", type);
  }
  /// Adds an adapter of InfiniBand or the like and opens it.
  void adapter(const std::string& name, const std::string& layer, const std::string& rate) const {
    put("/sys/class/infiniband_verbs/uverbs0/ibdev", name);
    put("/sys/class/infiniband/" + name + "/ports/1/state", "4: ACTIVE");
    put("/sys/class/infiniband/" + name + "/ports/1/rate", rate);
    put("/sys/class/infiniband/" + name + "/ports/1/link_layer", layer);
    link("/proc/fd/7", "/dev/infiniband/uverbs0");
  }
  std::vector<Device> open() const { return open_devices(path, path + "/proc/fd"); }
  std::string path;
};

}  // namespace antiphon::network
