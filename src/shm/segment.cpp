// SPDX-License-Identifier: Apache-2.0
#include "shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>

namespace antiphon::shm {

namespace {

std::string name_of(std::uint64_t number) { return "antiphon-" + std::to_string(number); }

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

/// Returns a new file of memory, or -1. Some systems want it to say that nobody executes it; older ones do not know
/// that.
int make_file(const std::string& name) {
  const int file = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  return file < 0 && errno == EINVAL ? memfd_create(name.c_str(), MFD_CLOEXEC) : file;
}

std::atomic<std::size_t> parts_in_use{0};  ///< bytes

/// Takes so much of what this process may have; returns whether there is that much left.
bool take_part(std::size_t bytes) {
  if (parts_in_use.fetch_add(bytes) + bytes <= Segment::most_bytes_a_process) return true;
  parts_in_use -= bytes;
  return false;
}

/// Tells whether the link leads to that segment. Opening anything else might do harm, or wait for ever.
bool leads_to(const std::string& link, std::uint64_t number) {
  std::array<char, 128> target{};
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  if (length <= 0) return false;
  const std::string_view found(target.data(), static_cast<std::size_t>(length));
  return found.starts_with("/memfd:" + name_of(number) + " ");
}

}  // namespace

Segment::~Segment() {
  close_file();
  if (memory_ != nullptr) munmap(memory_, bytes_);
  parts_in_use -= own_part_bytes_;
}

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(own_part_bytes_, other.own_part_bytes_);
  std::swap(address_, other.address_);
  return *this;
}

void Segment::map(int file, std::size_t bytes, int sharers) {
  const std::size_t part_bytes = bytes / static_cast<std::size_t>(sharers);
  if (!take_part(part_bytes)) return;
  own_part_bytes_ = part_bytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
}

Segment Segment::make(std::size_t bytes, int sharers) {
  Segment made;
  // Beyond the limit on the size of files, ftruncate would end the process by SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) return made;
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return made;
  made.address_ = {getpid(), make_file(name_of(number)), number};
  if (made.address_.file < 0) return made;
  if (ftruncate(made.address_.file, static_cast<off_t>(bytes)) != 0) return made;
  made.map(made.address_.file, bytes, sharers);
  return made;
}

Segment Segment::open(const SegmentAddress& address, std::size_t bytes, int sharers) {
  Segment opened;
  const std::string link = "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.file);
  if (!leads_to(link, address.number)) return opened;
  const int file = ::open(link.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return opened;
  struct stat found{};
  if (fstat(file, &found) == 0 && static_cast<std::size_t>(found.st_size) == bytes) opened.map(file, bytes, sharers);
  ::close(file);
  return opened;
}

void Segment::close_file() {
  if (address_.file >= 0) close(std::exchange(address_.file, -1));
}

}  // namespace antiphon::shm
