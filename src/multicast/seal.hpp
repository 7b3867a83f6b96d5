// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

namespace antiphon::multicast {

using Key = std::array<std::uint64_t, 4>;

/// The keyed tag of a packet: HighwayHash-64 (a pseudorandom function) of all bytes before the tag.
class Seal {
 public:
  explicit Seal(std::span<const std::uint8_t, 32> key);
  /// Returns the tag of the two runs of bytes, one after the other.
  [[nodiscard]] std::uint64_t tag(std::span<const std::byte> head, std::span<const std::byte> rest) const {
    return function_(key_, head, rest);
  }

  using Function = std::uint64_t (*)(const Key&, std::span<const std::byte>, std::span<const std::byte>);
  /// One function for each instruction set of this processor, the fastest last. All give the same results.
  static std::span<const Function> functions();

 private:
  Key key_;
  Function function_;
};

/// Remembers which counters of one origin have been seen, so that each is accepted once. Counters far below the highest
/// are rejected.
class ReplayWindow {
 public:
  static constexpr std::uint64_t bits = 4096;
  /// Returns true and remembers `counter` (from 1) if it has not been seen.
  bool take(std::uint64_t counter);

 private:
  std::uint64_t highest_ = 0;
  std::bitset<bits> seen_;
};

}  // namespace antiphon::multicast
