// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace antiphon::mpi::trace {

/// Holds memory that grows up to a bound. It is mapped to a file if one can be made, so that its content outlives the
/// process.
class MappedBuffer {
 public:
  /// An empty `path` means plain memory. The file begins with `preamble`.
  MappedBuffer(const std::string& path, std::string_view preamble, std::size_t most_bytes);
  ~MappedBuffer();
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;

  /// Returns false if the bound is reached; nothing is appended then.
  bool append(std::string_view bytes);
  /// Returns the content without the preamble.
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

}  // namespace antiphon::mpi::trace
