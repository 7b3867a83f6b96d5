// SPDX-License-Identifier: Apache-2.0
/// Small files and their words. Streams would bring the C++ library's locales, 160 KB in each compressed program.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace antiphon {

/// Returns what a file holds, or nothing if it cannot be opened.
inline std::optional<std::string> contents_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (file == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 1 << 14> room;
  for (std::size_t got; (got = std::fread(room.data(), 1, room.size(), file.get())) > 0;) text.append(room.data(), got);
  return text;
}

/// Returns the parts between separators, also empty ones; a separator at the end begins no part.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Returns the parts between blanks and ends of lines.
inline std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<std::string> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(blanks, begin)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

/// Returns a file's lines; none if it cannot be opened.
inline std::vector<std::string> lines_of_file(const std::string& path) {
  return split(contents_of(path).value_or(""), '\n');
}

/// Returns a file's first line; an empty one if there is none.
inline std::string first_line_of(const std::string& path) {
  const std::string text = contents_of(path).value_or("");
  return text.substr(0, text.find('\n'));
}

/// Returns the whole number that a file begins with, or nothing.
inline std::optional<long long> number_in(const std::string& path) {
  const std::string line = first_line_of(path);
  long long number = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace antiphon
