// SPDX-License-Identifier: Apache-2.0
// The fuzzers' corpus, replayed: each file, cut short at many places, and with bytes changed.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <doctest/doctest.h>

#include "../fuzz/mapping_target.hpp"
#include "../fuzz/phases_target.hpp"
#include "../fuzz/targets.hpp"

using namespace antiphon;

namespace {

void replay_corpus(const std::string& folder, bool (*holds)(std::string_view)) {
  const auto corpus = std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "corpus" / folder;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    ++files;
    CAPTURE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    CHECK(holds(text));
    for (std::size_t length = 0; length < text.size(); length += 1 + text.size() / 50)
      CHECK(holds(text.substr(0, length)));
    std::mt19937 random(1);
    for (int i = 0; i < 200 && !text.empty(); ++i) {
      std::string changed = text;
      for (int k = 0; k <= i % 3; ++k) changed[random() % changed.size()] = "0123456789-[]{}\",:ne\xff"[random() % 22];
      CHECK(holds(changed));
    }
  }
  CHECK(files > 3);
}

}  // namespace

TEST_CASE("the corpus of schedules and plans") {
  replay_corpus("schedule_json", [](std::string_view text) { return fuzz::schedule(text) && fuzz::plan(text); });
}

TEST_CASE("the corpus of rules and choices") {
  replay_corpus("rules", [](std::string_view text) { return fuzz::rules(text) && fuzz::choice(text); });
}

TEST_CASE("the corpus of profiles") { replay_corpus("profile", fuzz::profile); }

TEST_CASE("the corpus of patterns, phases and compiled plans") { replay_corpus("phases", fuzz::phases); }

TEST_CASE("the corpus of traffic and machines") { replay_corpus("mapping", fuzz::mapping); }
