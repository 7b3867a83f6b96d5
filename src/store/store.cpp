// SPDX-License-Identifier: Apache-2.0
#include "antiphon/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "antiphon/profile.hpp"
#include "antiphon/select.hpp"
#include "json/node.hpp"

namespace antiphon {

namespace {

namespace fs = std::filesystem;

constexpr const char* site_directory = "/etc/antiphon/profiles";
constexpr std::size_t most_profile_bytes = std::size_t{64} << 20;
constexpr std::string_view about_format = "antiphon-store";
constexpr std::size_t most_about_bytes = std::size_t{4} << 20;
/// A directory with more entries loses those of runs that nobody repeated: containers have a new name each time.
constexpr std::size_t most_entries = 512;
constexpr std::string_view nowhere = "there is no directory to write to (neither XDG_CACHE_HOME nor HOME is set)";
constexpr int lock_tries = 20;
constexpr long lock_pause_ns = 10'000'000;

/// Holds the lock of an entry while it lives. Who cannot have it soon goes on without: files are replaced whole, so the
/// last one counts.
class EntryLock {
 public:
  explicit EntryLock(const fs::path& entry)
      : file_(open((entry / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    for (int i = 0; file_ >= 0 && i < lock_tries && flock(file_, LOCK_EX | LOCK_NB) != 0; ++i) {
      const timespec pause{0, lock_pause_ns};
      nanosleep(&pause, nullptr);
    }
  }
  ~EntryLock() {
    if (file_ >= 0) close(file_);
  }
  EntryLock(const EntryLock&) = delete;
  EntryLock& operator=(const EntryLock&) = delete;

 private:
  int file_;
};

/// Returns an entry's about.json. A directory without one is not the store's.
std::optional<Json> read_about(const fs::path& directory) {
  std::string why;
  const auto text = read_bounded((directory / "about.json").string(), most_about_bytes, why);
  if (!text) return std::nullopt;
  try {
    Json document = JsonNode::parse(text->text, most_about_bytes);
    const JsonNode about(document);
    const JsonNode format = about.at("format");
    return format.text() == about_format ? std::optional(std::move(document)) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<std::string> nodes_in(const fs::path& entry) {
  const auto document = read_about(entry);
  if (!document) return {};
  try {
    const JsonNode about(*document);
    const JsonNode nodes = about.at("nodes");
    std::vector<std::string> names;
    for (std::size_t i = 0; i < nodes.array_size(); ++i) names.push_back(nodes.element(i).text());
    std::sort(names.begin(), names.end());
    return names;
  } catch (const std::exception&) {
    return {};  // Such an entry is still found by its own nodes.
  }
}

/// Returns the directories that may be entries by their names, which StoreKey::name() gives.
std::vector<fs::path> directories_like_entries(const std::string& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const bool is_named = at->path().filename().string().find("-node") != std::string::npos;
    if (is_named && at->is_directory(error)) entries.push_back(at->path());
  }
  std::sort(entries.begin(), entries.end());
  if (entries.size() > 2 * most_entries) entries.resize(2 * most_entries);
  return entries;
}

/// Returns the entry with a profile of the fewest nodes that have all of these among them.
fs::path widest_fit(const std::string& directory, const StoreKey& key) {
  fs::path best;
  std::size_t best_nodes = SIZE_MAX;
  std::error_code error;
  for (const fs::path& entry : directories_like_entries(directory)) {
    if (!entry.filename().string().starts_with(key.mpi + ".") || !fs::exists(entry / "profile.json", error)) continue;
    const std::vector<std::string> nodes = nodes_in(entry);
    if (nodes.size() >= best_nodes || !std::includes(nodes.begin(), nodes.end(), key.nodes.begin(), key.nodes.end()))
      continue;
    best = entry;
    best_nodes = nodes.size();
  }
  return best;
}

/// Returns a profile that the core can read, or nothing and why.
std::optional<Stored> read_profile(const fs::path& path, std::vector<std::string>& problems) {
  std::string why;
  auto found = read_bounded(path.string(), most_profile_bytes, why);
  try {
    if (found) {
      (void)Profile::parse(found->text);
      (void)Rules::of_profile(found->text);
      return found;
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!why.empty()) problems.push_back(path.string() + ": " + why);
  return std::nullopt;
}

/// Removes the oldest entries without a profile where there are too many. Other directories stay.
void prune(const std::string& directory) {
  std::vector<fs::path> entries = directories_like_entries(directory);
  std::erase_if(entries, [](const fs::path& entry) { return !read_about(entry); });
  if (entries.size() <= most_entries) return;
  std::error_code error;
  // Other jobs change times and remove entries meanwhile.
  std::vector<std::pair<fs::file_time_type, fs::path>> by_age;
  for (const fs::path& entry : entries) {
    if (!fs::exists(entry / "profile.json", error)) by_age.emplace_back(fs::last_write_time(entry, error), entry);
  }
  std::sort(by_age.begin(), by_age.end());
  for (std::size_t i = 0; i + most_entries / 2 < by_age.size(); ++i) fs::remove_all(by_age[i].second, error);
}

/// Makes the entry's directory, with its about.json. Returns why that was not possible.
std::string make_entry(const std::string& directory, const StoreKey& key, const fs::path& entry) {
  std::error_code error;
  if (fs::exists(entry / "about.json", error)) return "";
  fs::create_directories(entry, error);
  if (error) return error.message();
  const Json about{{"format", about_format}, {"version", 1}, {"mpi", key.mpi}, {"nodes", Json(key.nodes)}};
  std::string why = replace_file((entry / "about.json").string(), about.dump(1) + "\n");
  if (why.empty()) prune(directory);
  return why;
}

}  // namespace

Store::Store(std::vector<std::string> directories) : directories_(std::move(directories)) {
  if (!directories_.empty()) written_ = directories_.front();
  std::erase(directories_, "");
}

std::vector<std::string> Store::directories(const std::string& setting, const std::string& cache_home,
                                            const std::string& home) {
  if (setting == "off") return {};
  // A relative cache would be another one in each directory: the XDG specification has it ignored.
  const std::string of_home = home.empty() ? "" : home + "/.cache";
  const std::string cache = cache_home.starts_with('/') ? cache_home : of_home;
  const std::string own = cache.empty() ? "" : cache + "/antiphon/profiles";
  const std::string all = setting.empty() ? ":" + std::string(site_directory) : setting;
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find(':', begin), all.size());
    const std::string part = begin == end ? own : all.substr(begin, end - begin);
    found.push_back(part);
    begin = end + 1;
  }
  return found;
}

std::string Store::path_of(const StoreKey& key) const { return written_.empty() ? "" : written_ + "/" + key.name(); }

std::optional<Stored> Store::find_profile(const StoreKey& key, std::vector<std::string>& problems) const {
  for (const std::string& directory : directories_) {
    if (auto own = read_profile(fs::path(directory) / key.name() / "profile.json", problems)) return own;
  }
  for (const std::string& directory : directories_) {
    const fs::path wider = widest_fit(directory, key);
    if (wider.empty()) continue;
    if (auto found = read_profile(wider / "profile.json", problems)) return found;
  }
  return std::nullopt;
}

std::optional<Learned> Store::find_learned(const StoreKey& key, const StoreNetwork& network,
                                           std::vector<std::string>& problems) const {
  for (const std::string& directory : directories_) {
    const std::string path = directory + "/" + key.name() + "/" + network.file_name();
    std::string why;
    const auto found = read_bounded(path, most_profile_bytes, why);
    try {
      if (found) {
        Learned learned = Learned::parse(found->text);
        learned.path = path;
        learned.saved_s = found->modified_s;
        return learned;
      }
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (!why.empty()) problems.push_back(path + ": " + why);
  }
  return std::nullopt;
}

std::string Store::save_profile(const StoreKey& key, std::string_view text) const {
  if (written_.empty()) return std::string(nowhere);
  const fs::path entry = path_of(key);
  std::string why = make_entry(written_, key, entry);
  return why.empty() ? replace_file((entry / "profile.json").string(), text) : why;
}

std::string Store::save_learned(const StoreKey& key, const StoreNetwork& network, const Learned& learned) const {
  if (written_.empty()) return std::string(nowhere);
  const fs::path entry = path_of(key);
  if (std::string why = make_entry(written_, key, entry); !why.empty()) return why;
  const EntryLock lock(entry);
  std::vector<std::string> problems;  // What is broken is replaced.
  Learned all = Store({written_}).find_learned(key, network, problems).value_or(Learned{});
  all.merge(learned);
  return replace_file((entry / network.file_name()).string(), all.to_json().dump(1) + "\n");
}

}  // namespace antiphon
