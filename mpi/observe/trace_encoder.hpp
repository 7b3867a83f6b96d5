// SPDX-License-Identifier: Apache-2.0
// Encodes numbers and texts in the form that a trace uses (docs/reference/trace.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace antiphon::mpi::trace {

/// Appends numbers in the trace's form.
class Encoder {
 public:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) text_.push_back(static_cast<char>(value | 128));
    text_.push_back(static_cast<char>(value));
  }
  void signed_number(std::int64_t value) {
    varint(value >= 0 ? 2 * static_cast<std::uint64_t>(value) : 2 * static_cast<std::uint64_t>(-(value + 1)) + 1);
  }
  void text(std::string_view value) {
    varint(value.size());
    text_ += value;
  }
  /// Appends `at(i)` for i < size, and merges equal neighbours into runs.
  template <class At>
  void list(std::int64_t size, At&& at) {
    varint(static_cast<std::uint64_t>(size));
    for (std::int64_t i = 0; i < size;) {
      const auto value = at(i);
      std::int64_t same = 1;
      while (i + same < size && at(i + same) == value) ++same;
      varint(static_cast<std::uint64_t>(value));
      varint(static_cast<std::uint64_t>(same));
      i += same;
    }
  }
  void clear() { text_.clear(); }
  void append(std::string_view bytes) { text_ += bytes; }
  [[nodiscard]] const std::string& bytes() const { return text_; }

 private:
  std::string text_;
};

}  // namespace antiphon::mpi::trace
