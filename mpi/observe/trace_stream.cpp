// SPDX-License-Identifier: Apache-2.0
#include "observe/trace_stream.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace antiphon::mpi::trace {

namespace {

constexpr std::uint64_t shape_key = 2;
constexpr std::uint64_t end_key = 3;
constexpr std::uint64_t first_call_key = 16;
/// Room that is kept for the last entry.
constexpr std::size_t reserve_bytes = 64;
constexpr std::size_t first_capacity_bytes = std::size_t{1} << 20;

}  // namespace

Stream::Stream(const std::string& path, std::string_view preamble, std::size_t most_bytes)
    : path_(path), most_(std::max(most_bytes, first_capacity_bytes) + preamble.size() + reserve_bytes) {
  if (!path.empty()) file_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (!grow(first_capacity_bytes + preamble.size())) throw std::bad_alloc();
  std::memcpy(base_, preamble.data(), preamble.size());
  size_ = preamble_ = preamble.size();
}

Stream::~Stream() {
  if (base_ != nullptr) munmap(base_, capacity_);
  if (file_ >= 0) close(file_);
}

bool Stream::grow(std::size_t wanted) {
  // The part of a file that is not there reads as zeros: the end of the stream. posix_fallocate, since a full disk must
  // say so here and not by a signal later.
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

bool Stream::append(std::string_view bytes) {
  if (size_ + bytes.size() > capacity_ && !grow(std::min(most_, std::max(2 * capacity_, size_ + bytes.size()))))
    return false;
  if (size_ + bytes.size() > capacity_) return false;
  std::memcpy(base_ + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  return true;
}

void Stream::remove_file() {
  if (file_ >= 0) unlink(path_.c_str());
}

void Recorder::call(const std::string& shape, std::int64_t start_ns, std::int64_t duration_ns) {
  const bool full = table_bytes_ + stream_.content().size() + shape.size() > most_;
  auto known = shapes_.find(shape);
  if (known == shapes_.end()) {
    if (full) {
      ++dropped_;
      return;
    }
    scratch_.clear();
    scratch_.varint(shape_key);
    scratch_.varint(shapes_.size());
    scratch_.append(shape);
    if (!stream_.append(scratch_.bytes())) {
      ++dropped_;
      return;
    }
    known = shapes_.emplace(shape, shapes_.size()).first;
    table_bytes_ += shape.size() + 64;
  }
  scratch_.clear();
  scratch_.varint(first_call_key + known->second);
  scratch_.varint(static_cast<std::uint64_t>(std::max<std::int64_t>(0, start_ns - last_start_ns_)));
  scratch_.varint(static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration_ns)));
  if (full || !stream_.append(scratch_.bytes())) {
    ++dropped_;
    return;
  }
  last_start_ns_ = std::max(last_start_ns_, start_ns);
}

void Recorder::entry(std::string_view bytes) {
  if (!stream_.append(bytes)) ++dropped_;
}

void Recorder::finish(std::int64_t now_ns) {
  scratch_.clear();
  scratch_.varint(end_key);
  scratch_.varint(static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ns)));
  scratch_.varint(dropped_);
  stream_.append(scratch_.bytes());
}

}  // namespace antiphon::mpi::trace
