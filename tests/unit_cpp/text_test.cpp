// SPDX-License-Identifier: Apache-2.0
#include "antiphon/text.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>

#include "antiphon/fnv.hpp"

using namespace antiphon;
using Parts = std::vector<std::string>;

TEST_CASE("a text's parts: empty ones count, and what ends with a separator has none after it") {
  CHECK(split("", ',').empty());
  CHECK(split("a", ',') == Parts{"a"});
  CHECK(split("a,,b,", ',') == Parts{"a", "", "b"});
  CHECK(split("\n", '\n') == Parts{""});
}

TEST_CASE("a text's words") {
  CHECK(words_of(" \t\n").empty());
  CHECK(words_of("  Tcp: 1\t22\n3") == Parts{"Tcp:", "1", "22", "3"});
}

TEST_CASE("small files: lines, the first line, a number, and none of them where there is no file") {
  const std::string path = (std::filesystem::temp_directory_path() / "antiphon-text-test").string();
  std::FILE* const file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  const std::string text = "-12 of\n\n" + std::string(40'000, 'x');
  REQUIRE(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  std::fclose(file);
  CHECK(contents_of(path) == text);
  CHECK(first_line_of(path) == "-12 of");
  CHECK(number_in(path) == -12);
  CHECK(lines_of_file(path).size() == 3);
  std::remove(path.c_str());
  CHECK(contents_of(path) == std::nullopt);
  CHECK(first_line_of(path).empty());
  CHECK(number_in(path) == std::nullopt);
  CHECK(lines_of_file(path).empty());
  CHECK(contents_of("/") == "");  // A folder can be opened, not read.
}

TEST_CASE("hashes in files' names and in files are the same in every version") {
  const auto of = [](auto... parts) {
    Fnv hasher;
    (hasher.add(parts), ...);
    return hasher.value();
  };
  CHECK(of() == 0xcbf29ce484222325);
  CHECK(of("foobar") == 0x85944171f73967e8);
  CHECK(of("foo", "bar") == of("foobar"));
  CHECK(of(258) == 0x216b0ab9ec24fb2c);
}
