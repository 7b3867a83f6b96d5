// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

/// Runs a fuzz target on each file of the corpus `folder`: whole, truncated at about `cuts` lengths, and with 1 to
/// `most_changes` bytes replaced by values of `changed_byte(random)`. Returns the number of files.
template <typename ChangedByte>
int replay_corpus(const std::string& folder, bool (*holds)(std::string_view), std::size_t cuts, int most_changes,
                  ChangedByte changed_byte) {
  const auto corpus = std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "corpus" / folder;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    ++files;
    CAPTURE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    CHECK(holds(text));
    for (std::size_t length = 0; length < text.size(); length += 1 + text.size() / cuts)
      CHECK(holds(text.substr(0, length)));
    std::mt19937 random(1);
    for (int i = 0; i < 200 && !text.empty(); ++i) {
      std::string changed = text;
      for (int k = 0; k <= i % most_changes; ++k) changed[random() % changed.size()] = changed_byte(random);
      CHECK(holds(changed));
    }
  }
  return files;
}
