// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

namespace antiphon::multicast {

using Key = std::array<std::uint64_t, 4>;

/// The keyed tag of a packet: HighwayHash-64 (a pseudorandom function) of all its bytes before the tag.
class Seal {
 public:
  explicit Seal(std::span<const std::uint8_t, 32> key);
  /// Of the two runs of bytes one after the other.
  [[nodiscard]] std::uint64_t tag(std::span<const std::byte> head, std::span<const std::byte> rest) const {
    return function_(key_, head, rest);
  }

  using Function = std::uint64_t (*)(const Key&, std::span<const std::byte>, std::span<const std::byte>);
  /// One for each instruction set that this processor has, the fastest last; all give the same.
  static std::span<const Function> functions();

 private:
  Key key_;
  Function function_;
};

/// Which counters of one origin have been seen: each is fresh once. What lies too far behind the highest is not fresh.
class ReplayWindow {
 public:
  static constexpr std::uint64_t bits = 4096;
  /// True, and remembers it, if `counter` (from 1) has not been seen.
  bool take(std::uint64_t counter);

 private:
  std::uint64_t highest_ = 0;
  std::bitset<bits> seen_;
};

}  // namespace antiphon::multicast
