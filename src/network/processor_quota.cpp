// SPDX-License-Identifier: Apache-2.0
#include "network/processor_quota.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "antiphon/text.hpp"

namespace antiphon::network {

namespace {

namespace fs = std::filesystem;

/// Tells whether a list with commas has the word.
bool lists(std::string_view list, std::string_view word) {
  const std::vector<std::string> words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Returns 0 for what is no number.
std::int64_t number_of(std::string_view word) {
  std::int64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

/// Returns the cores that the files of a folder allow its group, in version 2 of control groups or in version 1.
std::optional<double> allowed_by(const fs::path& folder) {
  const std::vector<std::string> both = words_of(first_line_of(folder / "cpu.max"));
  const bool unified = both.size() == 2;
  const std::int64_t quota = unified ? number_of(both[0]) : number_in(folder / "cpu.cfs_quota_us").value_or(0);
  const std::int64_t period = unified ? number_of(both[1]) : number_in(folder / "cpu.cfs_period_us").value_or(0);
  // Where there is no limit, they say "max" or -1.
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

/// A hierarchy of groups: where its files are, and which group of it is there.
struct Hierarchy {
  fs::path folder;
  std::string top;
};

/// Returns where the groups that limit processor time are; with `unified`, those of version 2.
std::optional<Hierarchy> hierarchy(std::string_view mounts, bool unified) {
  for (const std::string& line : split(mounts, '\n')) {
    const std::vector<std::string> fields = words_of(line);
    const auto dash = static_cast<std::size_t>(std::find(fields.begin(), fields.end(), "-") - fields.begin());
    if (dash < 5 || dash + 3 >= fields.size()) continue;
    const bool fits =
        unified ? fields[dash + 1] == "cgroup2" : fields[dash + 1] == "cgroup" && lists(fields[dash + 3], "cpu");
    if (fits) return Hierarchy{fields[4], fields[3]};
  }
  return std::nullopt;
}

/// Returns this process's group in that kind of hierarchy.
std::optional<std::string> group(std::string_view groups, bool unified) {
  for (const std::string& line : split(groups, '\n')) {
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
  return find(contents_of("/proc/self/cgroup").value_or(""), contents_of("/proc/self/mountinfo").value_or(""), "/");
}

std::int64_t ProcessorQuota::stopped_periods() const {
  std::int64_t all = 0;
  for (const fs::path& folder : limited_) {
    const std::vector<std::string> words = words_of(contents_of(folder / "cpu.stat").value_or(""));
    const auto name = std::find(words.begin(), words.end(), "nr_throttled");
    if (words.end() - name >= 2) all += number_of(name[1]);
  }
  return all;
}

}  // namespace antiphon::network
