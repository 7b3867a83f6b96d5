// SPDX-License-Identifier: Apache-2.0
// Checks the store: whose entry is found, what is merged, and that broken files and full disks harm nobody.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "antiphon/error.hpp"
#include "antiphon/store.hpp"
#include "profile_text.hpp"

using namespace antiphon;
namespace fs = std::filesystem;

namespace {

struct StoreFolder {
  StoreFolder() {
    std::string name = (fs::temp_directory_path() / "antiphon-store-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  ~StoreFolder() { fs::remove_all(path); }
  std::string path;
};

const StoreKey four({"n1.site", "n2.site", "n1.site", "n3.site", "n4.site"}, "openmpi", "Open MPI v5.0.11, build 7");
const StoreNetwork known_network{"tcp", "eth0", 0};
using Problems = std::vector<std::string>;

Learned learned_rule(const std::string& collective, const std::string& use) {
  Learned learned;
  learned.decisions = Json::parse(R"({"version": 1, "rules": [{"collective": ")" + collective +
                                  R"(", "bytes": [1024, 2047], "use": ")" + use + R"(", "why": "learned"}]})");
  return learned;
}

std::size_t rules_in(const Learned& learned) { return learned.decisions.at("rules").size(); }

}  // namespace

TEST_CASE("an entry is named by its nodes in any order and the library's major version") {
  CHECK(four.nodes == std::vector<std::string>{"n1", "n2", "n3", "n4"});
  CHECK(four.mpi == "openmpi-5");
  const StoreKey same({"n4", "n3", "n2", "n1"}, "openmpi", "5.1");
  CHECK(four.name() == same.name());
  CHECK(four.name().starts_with("openmpi-5.4-nodes."));
  CHECK(four.name() != StoreKey({"n1", "n2", "n3", "n5"}, "openmpi", "5.1").name());
  CHECK(four.name() != StoreKey(same.nodes, "openmpi", "4.1.4").name());
  CHECK(StoreKey({"10.0.0.1", "10.0.0.2"}, "", "Some/MPI 7").name().starts_with("mpi-7.2-nodes."));
  CHECK(StoreNetwork{"tcp", "eth0,../x", 5}.file_name() == "learned.tcp.eth0____x.5.json");
}

TEST_CASE("directories are what the setting says") {
  using Paths = std::vector<std::string>;
  CHECK(Store::directories("", "", "/home/u") == Paths{"/home/u/.cache/antiphon/profiles", "/etc/antiphon/profiles"});
  CHECK(Store::directories("", "/c", "/home/u").front() == "/c/antiphon/profiles");
  CHECK(Store::directories("", "c", "/home/u").front() == "/home/u/.cache/antiphon/profiles");
  CHECK(Store::directories("", "./c", "").front().empty());
  CHECK(Store::directories("/a:/b", "", "/h") == Paths{"/a", "/b"});
  CHECK(Store::directories(":/b", "", "/h") == Paths{"/h/.cache/antiphon/profiles", "/b"});
  CHECK(Store::directories("off", "/c", "/h").empty());
  // Without a home nothing is written, least of all the site's directory.
  const Store homeless(Store::directories("", "", ""));
  CHECK_FALSE(homeless.save_learned(four, known_network, learned_rule("bcast", "chain")).empty());
}

TEST_CASE("a profile serves its nodes and any part of them, but no others") {
  const StoreFolder folder;
  const Store store({folder.path});
  Problems problems;
  REQUIRE(store.save_profile(four, two_switch_profile).empty());
  CHECK(store.find_profile(four, problems)->path == folder.path + "/" + four.name() + "/profile.json");
  const StoreKey part({"n3", "n1"}, "openmpi", "5.0.11");
  CHECK(store.find_profile(part, problems)->text == two_switch_profile);
  CHECK_FALSE(store.find_profile(StoreKey({"n3", "n9"}, "openmpi", "5.0.11"), problems));
  CHECK_FALSE(store.find_profile(StoreKey({"n3", "n1"}, "mpich", "5.0.11"), problems));
  CHECK_FALSE(store.find_profile(StoreKey({"n1", "n2", "n3", "n4", "n5"}, "openmpi", "5"), problems));
  const std::string own = std::string(two_switch_profile) + "\n";
  REQUIRE(Store({folder.path}).save_profile(part, own).empty());
  CHECK(store.find_profile(part, problems)->text == own);
  CHECK(problems.empty());
}

TEST_CASE("a site's directory is read and never written") {
  const StoreFolder site;
  const StoreFolder user;
  REQUIRE(Store({site.path}).save_profile(four, two_switch_profile).empty());
  const Store store({user.path, site.path});
  Problems problems;
  CHECK(store.find_profile(four, problems)->path.starts_with(site.path));
  REQUIRE(store.save_learned(four, known_network, learned_rule("bcast", "chain")).empty());
  CHECK_FALSE(fs::exists(site.path + "/" + four.name() + "/" + known_network.file_name()));
  CHECK(fs::exists(user.path + "/" + four.name() + "/" + known_network.file_name()));
}

TEST_CASE("what runs learn is merged, for their nodes and their network alone") {
  const StoreFolder folder;
  const Store store({folder.path});
  Problems problems;
  REQUIRE(store.save_learned(four, known_network, learned_rule("bcast", "chain")).empty());
  Learned second = learned_rule("bcast", "binary");
  second.link_bits_per_s = 100'000'000;
  second.link_measured_s = 1'700'000'000;
  second.connection_bits_per_s = 25'000'000;
  second.evidence = Json{{"calls", 7}};
  REQUIRE(store.save_learned(four, known_network, second).empty());
  REQUIRE(store.save_learned(four, known_network, learned_rule("reduce", "library")).empty());
  const auto found = store.find_learned(four, known_network, problems);
  REQUIRE(found);
  CHECK(rules_in(*found) == 2);
  CHECK(found->decisions.at("rules").at(1).at("use").as_string() == "binary");
  CHECK(found->evidence.at("calls").as_integer() == 7);
  CHECK(found->link_bits_per_s == 100'000'000);
  CHECK(found->connection_bits_per_s == 25'000'000);
  CHECK(found->knows_link(1'700'000'060));
  CHECK_FALSE(found->knows_link(1'710'000'000));
  CHECK_FALSE(found->knows_link(1'600'000'000));
  CHECK_FALSE(store.find_learned(four, {"tcp", "eth1", 0}, problems));
  CHECK_FALSE(store.find_learned(StoreKey({"n1", "n2"}, "openmpi", "5"), known_network, problems));
  CHECK(problems.empty());
}

TEST_CASE("a measured rate counts for an hour, and for a month once two measurements in succession agree") {
  constexpr std::int64_t hour_s = 3600;
  constexpr std::int64_t day_s = 24 * hour_s;
  const StoreFolder folder;
  const Store store({folder.path});
  Problems problems;
  const auto counts_for_s = [&](std::int64_t bits_per_s, std::int64_t when_s) {
    REQUIRE(
        store.save_learned(four, known_network, {.link_bits_per_s = bits_per_s, .link_measured_s = when_s}).empty());
    const auto found = store.find_learned(four, known_network, problems);
    REQUIRE(found);
    CHECK(found->link_bits_per_s == bits_per_s);
    std::int64_t longest_s = 0;
    for (const std::int64_t later_s : {hour_s - 1, hour_s, 30 * day_s - 1, 30 * day_s})
      if (found->knows_link(when_s + later_s)) longest_s = later_s + 1;
    return longest_s;
  };
  CHECK(counts_for_s(3'000'000'000, 5 * day_s) == hour_s);
  CHECK(counts_for_s(10'000'000'000, 6 * day_s) == hour_s);
  CHECK(counts_for_s(9'000'000'000, 7 * day_s) == 30 * day_s);
  CHECK(counts_for_s(10'000'000'000, 40 * day_s) == 30 * day_s);
  CHECK(counts_for_s(1'000'000'000, 80 * day_s) == hour_s);
}

TEST_CASE("a broken file is named, passed over, and replaced by the next run") {
  const StoreFolder folder;
  const Store store({folder.path});
  REQUIRE(store.save_profile(four, "{\"format\": \"antiphon-pro").empty());
  const std::string path = folder.path + "/" + four.name() + "/" + known_network.file_name();
  std::ofstream(path) << R"({"format": "antiphon-learned", "version": 1, "decisions": {"rules": [{"use": "?"}]}})";
  Problems problems;
  CHECK_FALSE(store.find_profile(four, problems));
  CHECK_FALSE(store.find_learned(four, known_network, problems));
  REQUIRE(problems.size() >= 2);
  CHECK(problems.back().starts_with(path + ": "));
  REQUIRE(store.save_learned(four, known_network, learned_rule("bcast", "chain")).empty());
  CHECK(rules_in(*store.find_learned(four, known_network, problems)) == 1);
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(store.find_learned(four, known_network, problems));
  CHECK(problems.back() == path + ": it is no file");
}

TEST_CASE("what everybody can write is not read") {
  const StoreFolder folder;
  const Store store({folder.path});
  REQUIRE(store.save_learned(four, known_network, learned_rule("bcast", "chain")).empty());
  const std::string path = folder.path + "/" + four.name() + "/" + known_network.file_name();
  Problems problems;
  CHECK(store.find_learned(four, known_network, problems));
  REQUIRE(chmod(path.c_str(), 0666) == 0);
  CHECK_FALSE(store.find_learned(four, known_network, problems));
  REQUIRE_FALSE(problems.empty());
  CHECK(problems.back() == path + ": everybody can write it (chmod o-w)");
}

TEST_CASE("where nothing can be written the reason is returned") {
  const StoreFolder folder;
  std::ofstream(folder.path + "/file") << "x";
  const Store store({folder.path + "/file"});
  CHECK_FALSE(store.save_learned(four, known_network, learned_rule("bcast", "chain")).empty());
  CHECK_FALSE(store.save_profile(four, two_switch_profile).empty());
}

TEST_CASE("jobs that save at once leave a whole file with what all have learned") {
  const StoreFolder folder;
  const std::vector<std::string> collectives{"bcast", "reduce", "gather", "scatter"};
  std::vector<std::thread> jobs;
  for (const std::string& collective : collectives) {
    jobs.emplace_back([&folder, collective] {
      for (int i = 0; i < 5; ++i)
        (void)Store({folder.path}).save_learned(four, known_network, learned_rule(collective, "library"));
    });
  }
  Problems problems;
  for (int i = 0; i < 50; ++i) (void)Store({folder.path}).find_learned(four, known_network, problems);
  for (std::thread& job : jobs) job.join();
  CHECK(problems.empty());
  const auto found = Store({folder.path}).find_learned(four, known_network, problems);
  REQUIRE(found);
  CHECK(rules_in(*found) == collectives.size());
  // Nothing else is left than about.json, the lock and the file itself.
  CHECK(std::distance(fs::directory_iterator(folder.path + "/" + four.name()), fs::directory_iterator()) == 3);
}

TEST_CASE("of too many entries the oldest without a profile go") {
  const StoreFolder folder;
  const Store store({folder.path});
  constexpr int entries = 520, kept = 256;
  const auto entry = [&](int i) { return fs::path(folder.path) / ("openmpi-5.1-node." + std::to_string(i)); };
  for (int i = 0; i < entries; ++i) {
    fs::create_directory(entry(i));
    std::ofstream(entry(i) / "about.json") << R"({"format": "antiphon-store"})";
    if (i == 0) std::ofstream(entry(i) / "profile.json") << "x";
    fs::last_write_time(entry(i), fs::file_time_type::clock::now() - std::chrono::hours(entries - i));
  }
  REQUIRE(store.save_learned(four, known_network, learned_rule("bcast", "chain")).empty());
  CHECK(fs::exists(entry(0)));
  CHECK_FALSE(fs::exists(entry(1)));
  CHECK_FALSE(fs::exists(entry(entries - kept)));
  CHECK(fs::exists(entry(entries - kept + 1)));
  CHECK(fs::exists(store.path_of(four)));
}

TEST_CASE("directories that are not the store's stay, however many there are") {
  const StoreFolder folder;
  const Store store({folder.path});
  constexpr int directories = 600;
  for (int i = 0; i < directories; ++i) {
    const fs::path path = fs::path(folder.path) / ((i % 2 == 0 ? "data-" : "openmpi-5.1-node.") + std::to_string(i));
    fs::create_directory(path);
    if (i % 3 == 0) std::ofstream(path / "about.json") << R"({"format": "another", "nodes": ["n1", "n2", "n3", "n4"]})";
    if (i % 3 == 1) std::ofstream(path / "about.json") << "no JSON";
  }
  REQUIRE(store.save_learned(four, known_network, learned_rule("bcast", "chain")).empty());
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == directories + 1);
}
