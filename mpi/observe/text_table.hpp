// SPDX-License-Identifier: Apache-2.0
// A table for a terminal or a log file, 80 columns wide if possible.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace antiphon::mpi {

/// Formats three digits and a unit: 0.0822 → "82.2 ms".
std::string time_text(double seconds);
/// Formats powers of two as KiB, MiB, …: 65536 → "64 KiB".
std::string bytes_text(double bytes);
/// Formats a part of one: 0.667 → "66.7 %".
std::string percent_text(double part);

class TextTable {
 public:
  /// Adds a column; numbers are aligned to the right.
  TextTable& column(std::string heading, bool number = true);
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Prints the table. A last column that is too long goes on in further lines below itself.
  void print(std::FILE* out) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  void print_row(std::FILE* out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<std::string> headings_;
  std::vector<bool> numbers_;
  std::vector<std::vector<std::string>> rows_;
};

/// Breaks a text into lines of at most `width` columns, after blanks and the signs of "ring:a=1,b=2".
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// Prints a text after its mark, in lines of at most 80 columns.
void print_note(std::FILE* out, const std::string& mark, std::string_view text);

}  // namespace antiphon::mpi
