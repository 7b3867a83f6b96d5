// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "antiphon/codec.hpp"

namespace antiphon::codec {

/// The kept messages of a link by their number, which frames may refer to. Both ends have one.
class Window {
 public:
  static constexpr std::uint64_t max_reach =
      0x3fff;  ///< frames; well below half of what the 16 bits on the wire can tell apart

  struct Entry {
    std::unique_ptr<std::uint8_t[]> data;
    std::size_t bytes = 0;
    std::uint16_t hash = 0;
    bool usable = false;  ///< `data` holds the message
  };

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::size_t bytes() const { return bytes_; }
  /// Counts also the buffers that wait for reuse: at most half as much as the kept messages.
  std::size_t held_bytes() const { return bytes_ + spare_bytes_; }
  /// Returns nullptr if the window does not contain `number`.
  const Entry* find(std::uint64_t number) const;
  /// Stores a copy of the message under `number`.
  void keep(std::uint64_t number, ConstBytes message);
  /// Releases the message under `number`.
  void mark_unusable(std::uint64_t number);
  /// Releases every message below `number`.
  void drop_below(std::uint64_t number);

 private:
  Entry& slot(std::uint64_t number);
  std::unique_ptr<std::uint8_t[]> buffer(std::size_t bytes);
  void release(Entry& entry);

  std::vector<Entry> slots_;  // its size is a power of two; a message lies at the low bits of its number
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::size_t bytes_ = 0;
  std::size_t spare_bytes_ = 0;
  std::vector<std::pair<std::size_t, std::unique_ptr<std::uint8_t[]>>> spare_;
};

/// A hash of 16 samples of the message. It distinguishes other messages, and the same field one time step earlier.
std::uint16_t short_hash(ConstBytes message);

}  // namespace antiphon::codec
