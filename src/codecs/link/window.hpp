// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "antiphon/codec.hpp"

namespace antiphon::codec {

/// The kept messages of a link by their number: what frames may name as references. Both ends have one.
class Window {
 public:
  static constexpr std::uint64_t max_reach =
      0x3fff;  ///< frames; well below half of what the 16 bits on the wire can tell

  struct Kept {
    std::unique_ptr<std::uint8_t[]> data;
    std::size_t bytes = 0;
    std::uint16_t hash = 0;
    std::uint16_t reach = 0;
    bool seen = false;    ///< the frame was decoded, or will never be
    bool usable = false;  ///< `data` is the message
  };

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::size_t bytes() const { return bytes_; }
  /// With buffers that wait to be used again: at most half as much as is kept.
  std::size_t held_bytes() const { return bytes_ + spare_bytes_; }
  /// nullptr where the window does not reach.
  const Kept* find(std::uint64_t number) const;
  /// Copies the message in under that number.
  void keep(std::uint64_t number, ConstBytes message, std::uint16_t reach);
  void mark_unusable(std::uint64_t number, std::uint16_t reach);
  /// Lets go of everything below `number`.
  void drop_below(std::uint64_t number);

 private:
  Kept& slot(std::uint64_t number);
  std::unique_ptr<std::uint8_t[]> buffer(std::size_t bytes);
  void release(Kept& kept);

  std::vector<Kept> slots_;  // a power of two of them, by the number's low bits
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::size_t bytes_ = 0;
  std::size_t spare_bytes_ = 0;
  std::vector<std::pair<std::size_t, std::unique_ptr<std::uint8_t[]>>> spare_;
};

/// Of a few places of the message: tells another message, or the same one a step earlier.
std::uint16_t short_hash(ConstBytes message);

}  // namespace antiphon::codec
