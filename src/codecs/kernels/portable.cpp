// SPDX-License-Identifier: Apache-2.0
#include "codecs/kernels/kernel.hpp"

namespace antiphon::codec {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t native_bytes = 16;
constexpr std::size_t max_short_lag = 64;

#include "codecs/kernels/portable_blocks.inc.hpp"

template <typename T>
inline u32 pack_block(const T* values, u8* out) {
  return pack_block_portable(values, out);
}

template <typename T, bool Folded>
inline void unpack_block(const u8* in, u32 width, T* values) {
  unpack_block_portable(in, width, values);
  if (!Folded) return;
  for (std::size_t i = 0; i < block_bytes / sizeof(T); ++i) {
    values[i] = static_cast<T>(static_cast<T>(values[i] >> 1) ^ static_cast<T>(T{0} - static_cast<T>(values[i] & 1)));
  }
}

template <typename T>
inline bool integrate_in_registers(const T*, T*, std::size_t, std::size_t) {
  return false;
}

#include "codecs/kernels/passes.inc.hpp"

}  // namespace

const Kernel kernel_portable{"portable", begin, encode, decode, cost};

}  // namespace antiphon::codec
