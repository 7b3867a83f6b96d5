// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "message.hpp"

namespace antiphon::codec_bench {

/// xorshift64* from a scrambled seed. Unlike the standard library's distributions, it gives the same numbers with every
/// compiler.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_((seed + 1) * 0x9e3779b97f4a7c15u) {}
  std::uint64_t bits() {
    state_ ^= state_ >> 12, state_ ^= state_ << 25, state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  std::uint64_t below(std::uint64_t limit) { return (bits() >> 11) % limit; }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform() + 0x1p-54));
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::uint64_t state_;
};

template <typename T>
Message message_of(Type type, const std::vector<T>& values, int destination = 0, int tag = 0) {
  Message message{type, 2, destination, tag, std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(message.payload.data(), values.data(), message.payload.size());
  return message;
}

/// Converts a trace of doubles to floats.
MessageTrace as_floats(const MessageTrace& trace, const std::string& name);

}  // namespace antiphon::codec_bench
