// SPDX-License-Identifier: Apache-2.0
#include "observe/mapped_buffer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "antiphon/output_file.hpp"

namespace antiphon::mpi::trace {

namespace {

/// This room is kept for the last entry.
constexpr std::size_t reserve_bytes = 64;
constexpr std::size_t first_capacity_bytes = std::size_t{1} << 20;

}  // namespace

MappedBuffer::MappedBuffer(const std::string& path, std::string_view preamble, std::size_t most_bytes)
    : path_(path), most_(std::max(most_bytes, first_capacity_bytes) + preamble.size() + reserve_bytes) {
  if (!path.empty()) file_ = open_anew(path);
  if (!grow(first_capacity_bytes + preamble.size())) throw std::bad_alloc();
  std::memcpy(base_, preamble.data(), preamble.size());
  size_ = preamble_ = preamble.size();
}

MappedBuffer::~MappedBuffer() {
  if (base_ != nullptr) munmap(base_, capacity_);
  if (file_ >= 0) close(file_);
}

bool MappedBuffer::grow(std::size_t wanted) {
  // The missing part of a file reads as zeros, which mark the end of the buffer. posix_fallocate makes a full disk
  // report its error here instead of raising a signal later.
  if (file_ >= 0 && posix_fallocate(file_, 0, static_cast<off_t>(wanted)) != 0) {
    if (base_ != nullptr) return false;
    close(file_);
    unlink(path_.c_str());
    file_ = -1;
  }
  const int flags = file_ >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const fresh = base_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE, flags, file_, 0)
                                       : mremap(base_, capacity_, wanted, MREMAP_MAYMOVE);
  if (fresh == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(fresh);
  capacity_ = wanted;
  return true;
}

bool MappedBuffer::append(std::string_view bytes) {
  if (size_ + bytes.size() > capacity_ && !grow(std::min(most_, std::max(2 * capacity_, size_ + bytes.size()))))
    return false;
  if (size_ + bytes.size() > capacity_) return false;
  std::memcpy(base_ + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  return true;
}

void MappedBuffer::remove_file() {
  if (file_ >= 0) unlink(path_.c_str());
}

}  // namespace antiphon::mpi::trace
