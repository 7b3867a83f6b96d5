// SPDX-License-Identifier: Apache-2.0
// Memory that several processes of one node map. It has no name in any file system, so nothing is left of it when the
// last of them ends, however that happens.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace antiphon::shm {

/// Says where other processes find a segment.
struct SegmentAddress {
  std::int64_t process = 0;
  std::int32_t file = -1;
  std::uint64_t number = 0;  ///< random; part of the segment's name
};

/// Memory of a segment that is mapped here; it is unmapped with the object.
class Segment {
 public:
  Segment() = default;
  ~Segment();
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;

  /// Each of a segment's sharers has an equal part of it, and all parts of one process are so long together at most:
  /// a job's memory is limited, and a program may keep any number of communicators.
  static constexpr std::size_t most_bytes_a_process = std::size_t{16} << 20;

  /// Makes a segment of zeros for so many processes. It is empty (as below) if the system refuses, or this process has
  /// too much already.
  static Segment make(std::size_t bytes, int sharers);
  /// Maps another process's segment. It is empty if that cannot be reached from here or is no such segment, or if this
  /// process has too much already.
  static Segment open(const SegmentAddress& address, std::size_t bytes, int sharers);

  [[nodiscard]] bool empty() const { return memory_ == nullptr; }
  [[nodiscard]] std::byte* memory() const { return memory_; }
  /// Returns where others find the segment; only until close_file(), in the process that made it.
  [[nodiscard]] const SegmentAddress& address() const { return address_; }
  /// Nobody can map it any more, and no file stays open.
  void close_file();

 private:
  void map(int file, std::size_t bytes, int sharers);

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t own_part_bytes_ = 0;  ///< of what this process may have
  SegmentAddress address_;
};

}  // namespace antiphon::shm
