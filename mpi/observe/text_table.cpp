// SPDX-License-Identifier: Apache-2.0
#include "observe/text_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace antiphon::mpi {

namespace {

constexpr std::size_t page_width = 80;
constexpr std::size_t least_width = 18;  ///< of the last column
constexpr std::size_t gap = 2;

/// Returns how many columns a text takes: bytes that continue a UTF-8 character take none.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string formatted(const char* form, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), form, value);
  return text.data();
}

std::string three_digits(double value) {
  return formatted(value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value);
}

}  // namespace

std::string time_text(double seconds) {
  if (seconds < 0) return '-' + time_text(-seconds);
  constexpr std::array<std::pair<double, const char*>, 3> units{{{1, " s"}, {1e3, " ms"}, {1e6, " µs"}}};
  for (const auto& [factor, unit] : units) {
    if (seconds * factor >= 0.9995) return three_digits(seconds * factor) + unit;
  }
  return three_digits(seconds * 1e9) + " ns";
}

std::string bytes_text(double bytes) {
  constexpr std::array<std::pair<double, const char*>, 4> units{
      {{0x1p40, " TiB"}, {0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}}};
  for (const auto& [size, unit] : units) {
    if (bytes >= size) return formatted("%.4g", bytes / size) + unit;
  }
  return formatted("%.0f B", bytes);
}

std::string percent_text(double part) { return formatted("%.1f %%", 100 * part); }

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" ,:"), text.size() - 1) + 1;
    const std::string_view word = text.substr(0, end);
    const std::size_t length = columns_of(word) - (word.back() == ' ' ? 1 : 0);
    if (!lines.back().empty() && columns_of(lines.back()) + length > width) lines.emplace_back();
    lines.back() += word;
    text.remove_prefix(end);
  }
  for (std::string& line : lines) line.resize(line.find_last_not_of(' ') + 1);
  return lines;
}

void print_note(std::FILE* out, const std::string& mark, std::string_view text) {
  std::string before = mark;
  for (const std::string& line : wrapped(text, page_width - mark.size())) {
    std::fprintf(out, "%s%s\n", before.c_str(), line.c_str());
    before.assign(mark.size(), ' ');
  }
}

TextTable& TextTable::column(std::string heading, bool number) {
  headings_.push_back(std::move(heading));
  numbers_.push_back(number);
  return *this;
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  std::size_t used = 0;
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    std::size_t width = columns_of(headings_[i]);
    for (const auto& cells : rows_) width = std::max(width, columns_of(cells[i]));
    if (i + 1 == headings_.size() && !numbers_[i])
      width = std::min(width, std::max(least_width, page_width - std::min(page_width, used + gap)));
    widths.push_back(width);
    used += gap + width;
  }
  return widths;
}

void TextTable::print_row(std::FILE* out, const std::vector<std::string>& cells,
                          const std::vector<std::size_t>& widths) const {
  const auto last = wrapped(cells.back(), widths.back());
  for (std::size_t line = 0; line < last.size(); ++line) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = i + 1 == cells.size() ? last[line] : line == 0 ? cells[i] : "";
      const std::string blanks(widths[i] - std::min(widths[i], columns_of(cell)), ' ');
      text += std::string(gap, ' ').append(numbers_[i] ? blanks + cell : cell + blanks);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    std::fprintf(out, "%s\n", text.c_str());
  }
}

void TextTable::print(std::FILE* out) const {
  const std::vector<std::size_t> all = widths();
  print_row(out, headings_, all);
  for (const auto& cells : rows_) print_row(out, cells, all);
}

}  // namespace antiphon::mpi
