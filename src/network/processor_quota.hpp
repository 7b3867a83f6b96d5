// SPDX-License-Identifier: Apache-2.0
// Control groups may limit the processor time of their processes, as containers do (docker run --cpus 2). A group that
// has used up its time is stopped until the next period begins, mostly 100 ms after the last one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace antiphon::network {

class ProcessorQuota {
 public:
  /// Finds what limits this process's groups; nothing if nothing does.
  static std::optional<ProcessorQuota> of_this_process();
  /// The same, from the contents of /proc/self/cgroup and /proc/self/mountinfo, in files below `root`.
  static std::optional<ProcessorQuota> find(std::string_view groups, std::string_view mounts,
                                            const std::filesystem::path& root);

  /// Returns how many cores the tightest limit lets its group use all the time.
  [[nodiscard]] double cores() const { return cores_; }
  /// Returns in how many periods groups with a limit have been stopped so far; 0 if the system does not tell.
  [[nodiscard]] std::int64_t stopped_periods() const;

 private:
  double cores_ = 0;
  std::vector<std::filesystem::path> limited_;  ///< the folders of groups with a limit
};

}  // namespace antiphon::network
