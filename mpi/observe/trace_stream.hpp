// SPDX-License-Identifier: Apache-2.0
// One rank's stream of a trace (docs/reference/trace.md), in memory that outlives the process where that can be had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

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
  /// `at(i)` for i < size, equal ones in a run taken together.
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

/// Memory that grows up to a bound, mapped to a file if one can be made: what was written is there when the process is
/// not.
class Stream {
 public:
  /// `path` empty: plain memory. `preamble`: what the file begins with.
  Stream(const std::string& path, std::string_view preamble, std::size_t most_bytes);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// False when the bound is reached; nothing is appended then.
  bool append(std::string_view bytes);
  /// Without the preamble.
  [[nodiscard]] std::span<const std::byte> content() const { return {base_ + preamble_, size_ - preamble_}; }
  [[nodiscard]] bool on_file() const { return file_ >= 0; }
  void remove_file();

 private:
  bool grow(std::size_t wanted);

  std::string path_;
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0, most_, preamble_ = 0;
};

/// Calls of one rank, written to its stream.
class Recorder {
 public:
  Recorder(const std::string& path, std::string_view preamble, std::size_t most_bytes)
      : stream_(path, preamble, most_bytes), most_(most_bytes) {}

  /// A call whose shape (function, communicator, number of fields, fields) is encoded in `shape`.
  void call(const std::string& shape, std::int64_t start_ns, std::int64_t duration_ns);
  /// An entry that is not a call.
  void entry(std::string_view bytes);
  void finish(std::int64_t now_ns);
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] Stream& stream() { return stream_; }

 private:
  Stream stream_;
  std::unordered_map<std::string, std::uint64_t> shapes_;
  Encoder scratch_;
  std::size_t most_, table_bytes_ = 0;
  std::int64_t last_start_ns_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace antiphon::mpi::trace
