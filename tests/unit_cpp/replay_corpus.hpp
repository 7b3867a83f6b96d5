// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>

inline std::filesystem::path fuzz_folder() {
  return std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz";
}

/// Calls `take` with each input that libFuzzer kept (tests/fuzz/pack.py). Returns their number; 0 without any.
template <typename Take>
int for_each_packed(const std::string& name, Take take) {
  std::ifstream file(fuzz_folder() / "packed" / name, std::ios::binary);
  int inputs = 0;
  unsigned char length[4];
  while (file.read(reinterpret_cast<char*>(length), 4)) {
    std::string input(length[0] | std::size_t{length[1]} << 8 | std::size_t{length[2]} << 16, '\0');
    REQUIRE(file.read(input.data(), static_cast<std::streamsize>(input.size())));
    ++inputs;
    CAPTURE(inputs);
    take(std::move(input));
  }
  return inputs;
}

/// Runs a fuzz target on each file of the corpus `folder`: whole, truncated at about `cuts` lengths, and with 1 to
/// `most_changes` bytes replaced by values of `changed_byte(random)`; and on what libFuzzer kept. Returns the number of
/// inputs.
template <typename ChangedByte>
int replay_corpus(const std::string& folder, bool (*holds)(std::string_view), std::size_t cuts, int most_changes,
                  ChangedByte changed_byte) {
  const auto corpus = fuzz_folder() / "corpus" / folder;
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
  // Of these there are many, so each is changed twice only.
  std::mt19937 random(2);
  return files + for_each_packed(folder, [&](std::string text) {
           CHECK(holds(text));
           for (int i = 0; i < 2 && !text.empty(); ++i) {
             text[random() % text.size()] = changed_byte(random);
             CHECK(holds(text));
           }
         });
}
