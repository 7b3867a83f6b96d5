// SPDX-License-Identifier: Apache-2.0
#include "network/processor_quota.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace antiphon::network {

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Tells whether a list with commas has the word.
bool lists(std::string_view list, std::string_view word) {
  std::istringstream words{std::string(list)};
  for (std::string one; std::getline(words, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

/// Returns the cores that the files of a folder allow its group, in version 2 of control groups or in version 1.
std::optional<double> allowed_by(const fs::path& folder) {
  double quota = 0;
  double period = 0;
  std::istringstream both(text_of(folder / "cpu.max"));
  if (!(both >> quota >> period)) {
    std::istringstream(text_of(folder / "cpu.cfs_quota_us")) >> quota;
    std::istringstream(text_of(folder / "cpu.cfs_period_us")) >> period;
  }
  // Where there is no limit, they say "max" or -1.
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

/// A hierarchy of groups: where its files are, and which group of it is there.
struct Hierarchy {
  fs::path folder;
  std::string top;
};

/// Returns where the groups that limit processor time are; with `unified`, those of version 2.
std::optional<Hierarchy> hierarchy(std::string_view mounts, bool unified) {
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
    std::size_t dash = 0;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash < 5 || dash + 3 >= fields.size()) continue;
    const bool fits =
        unified ? fields[dash + 1] == "cgroup2" : fields[dash + 1] == "cgroup" && lists(fields[dash + 3], "cpu");
    if (fits) return Hierarchy{fields[4], fields[3]};
  }
  return std::nullopt;
}

/// Returns this process's group in that kind of hierarchy.
std::optional<std::string> group(std::string_view groups, bool unified) {
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProcessorQuota> ProcessorQuota::find(std::string_view groups, std::string_view mounts,
                                                   const fs::path& root) {
  ProcessorQuota found;
  for (const bool unified : {true, false}) {
    const std::optional<Hierarchy> all = hierarchy(mounts, unified);
    std::optional<std::string> own = group(groups, unified);
    if (!all || !own) continue;
    // In a container the files may begin at its own group.
    if (own->starts_with(all->top)) own->erase(0, all->top.size());
    else own->clear();
    const fs::path top = root / all->folder.relative_path();
    for (fs::path folder = top / fs::path(*own).relative_path();; folder = folder.parent_path()) {
      const std::optional<double> cores = allowed_by(folder);
      if (cores) {
        found.cores_ = found.limited_.empty() ? *cores : std::min(found.cores_, *cores);
        found.limited_.push_back(folder);
      }
      if (folder == top || !folder.has_relative_path()) break;
    }
  }
  return found.limited_.empty() ? std::nullopt : std::optional(found);
}

std::optional<ProcessorQuota> ProcessorQuota::of_this_process() {
  return find(text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo"), "/");
}

std::int64_t ProcessorQuota::stopped_periods() const {
  std::int64_t all = 0;
  for (const fs::path& folder : limited_) {
    std::istringstream words(text_of(folder / "cpu.stat"));
    std::int64_t periods = 0;
    for (std::string word; words >> word;) {
      if (word == "nr_throttled" && words >> periods) all += periods;
    }
  }
  return all;
}

}  // namespace antiphon::network
