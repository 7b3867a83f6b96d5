// SPDX-License-Identifier: Apache-2.0
// A block is two registers. Shuffles sort its bytes; shifts and masks transpose its bits in 64-bit lanes.
#include "codecs/kernels/kernel.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace antiphon::codec {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t native_bytes = 32;
constexpr std::size_t max_short_lag = 64;

struct Pair {
  __m256i low;
  __m256i high;
};

inline __m256i both_lanes(u64 first, u64 second) {
  return _mm256_setr_epi64x(static_cast<long long>(first), static_cast<long long>(second),
                            static_cast<long long>(first), static_cast<long long>(second));
}

inline __m256i shuffled(__m256i x, u64 first, u64 second) { return _mm256_shuffle_epi8(x, both_lanes(first, second)); }

template <int Shift>
inline __m256i swapped(__m256i x, u64 mask) {
  const __m256i t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, Shift)),
                                     _mm256_set1_epi64x(static_cast<long long>(mask)));
  return _mm256_xor_si256(_mm256_xor_si256(x, t), _mm256_slli_epi64(t, Shift));
}

/// Transposes four 8x8 matrices of bits.
inline __m256i transposed_bits(__m256i x) {
  x = swapped<7>(x, 0x00aa00aa00aa00aaULL);
  x = swapped<14>(x, 0x0000cccc0000ccccULL);
  return swapped<28>(x, 0x00000000f0f0f0f0ULL);
}

inline Pair transposed_bits(Pair p) { return {transposed_bits(p.low), transposed_bits(p.high)}; }

/// Orders dwords as 0 4 1 5 2 6 3 7, which pairs what the two lanes hold of the same group.
inline __m256i lanes_zipped(__m256i x) {
  return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
inline __m256i lanes_unzipped(__m256i x) {
  return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

/// Transposes the 4x4 matrix of bytes in each lane.
inline __m256i small_transposed(__m256i x) { return shuffled(x, 0x0d0905010c080400ULL, 0x0f0b07030e0a0602ULL); }
/// Puts even bytes before odd ones in each lane; the next function does the reverse.
inline __m256i bytes_parted(__m256i x) { return shuffled(x, 0x0e0c0a0806040200ULL, 0x0f0d0b0907050301ULL); }
inline __m256i bytes_zipped(__m256i x) { return shuffled(x, 0x0b030a0209010800ULL, 0x0f070e060d050c04ULL); }

/// Transposes the 8x8 matrix of bytes; applying it twice gives the original.
inline Pair transposed_bytes(Pair p) {
  const __m256i a = bytes_zipped(_mm256_permute2x128_si256(p.low, p.high, 0x20));
  const __m256i b = bytes_zipped(_mm256_permute2x128_si256(p.low, p.high, 0x31));
  return {lanes_zipped(_mm256_unpacklo_epi16(a, b)), lanes_zipped(_mm256_unpackhi_epi16(a, b))};
}

/// Orders qwords as 0 2 1 3.
inline __m256i middle_swapped(__m256i x) { return _mm256_permute4x64_epi64(x, 0xd8); }

/// Turns values into planes, plane 0 first.
template <int Es>
inline Pair planes_of(Pair v) {
  if constexpr (Es == 8) return transposed_bits(transposed_bytes(v));
  if constexpr (Es == 1) return transposed_bytes(transposed_bits(v));
  if constexpr (Es == 4) {
    const Pair t = transposed_bits(Pair{lanes_zipped(small_transposed(v.low)), lanes_zipped(small_transposed(v.high))});
    const __m256i low = _mm256_unpacklo_epi8(t.low, t.high);
    const __m256i high = _mm256_unpackhi_epi8(t.low, t.high);
    return {_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31)};
  }
  const Pair t = transposed_bits(Pair{bytes_parted(v.low), bytes_parted(v.high)});
  const __m256i first = middle_swapped(_mm256_unpacklo_epi64(t.low, t.high));
  const __m256i second = middle_swapped(_mm256_unpackhi_epi64(t.low, t.high));
  return {small_transposed(lanes_unzipped(first)), small_transposed(lanes_unzipped(second))};
}

template <int Es>
inline Pair values_of_planes(Pair p) {
  if constexpr (Es == 8) return transposed_bytes(transposed_bits(p));
  if constexpr (Es == 1) return transposed_bits(transposed_bytes(p));
  if constexpr (Es == 4) {
    const __m256i low = bytes_parted(_mm256_permute2x128_si256(p.low, p.high, 0x20));
    const __m256i high = bytes_parted(_mm256_permute2x128_si256(p.low, p.high, 0x31));
    const Pair t = transposed_bits(Pair{_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high)});
    return {small_transposed(lanes_unzipped(t.low)), small_transposed(lanes_unzipped(t.high))};
  }
  const Pair t = transposed_bits(Pair{lanes_zipped(small_transposed(p.low)), lanes_zipped(small_transposed(p.high))});
  const __m256i first = middle_swapped(t.low);
  const __m256i second = middle_swapped(t.high);
  return {bytes_zipped(_mm256_unpacklo_epi64(first, second)), bytes_zipped(_mm256_unpackhi_epi64(first, second))};
}

template <typename T>
inline u32 pack_block(const T* values, u8* out) {
  constexpr u32 units = 8 / sizeof(T);
  const auto* from = reinterpret_cast<const __m256i*>(values);
  const Pair planes = planes_of<sizeof(T)>({_mm256_load_si256(from), _mm256_load_si256(from + 1)});
  auto* to = reinterpret_cast<__m256i*>(out);
  _mm256_storeu_si256(to, planes.low);
  _mm256_storeu_si256(to + 1, planes.high);
  const __m256i zero = _mm256_setzero_si256();
  const u32 low = static_cast<u32>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(planes.low, zero)));
  const u32 high = static_cast<u32>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(planes.high, zero)));
  const u64 used = ~(static_cast<u64>(high) << 32 | low);
  return (64 - static_cast<u32>(_lzcnt_u64(used)) + units - 1) / units;
}

/// From byte 64 - n on, the table holds n times 0xff, then zeros.
alignas(64) constexpr u8 ones_then_zeros[192] = {
#define ANTIPHON_ONES 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255
    ANTIPHON_ONES, ANTIPHON_ONES, ANTIPHON_ONES, ANTIPHON_ONES
#undef ANTIPHON_ONES
};

template <typename T, bool Folded>
inline void unpack_block(const u8* in, u32 width, T* values) {
  const u8* mask = ones_then_zeros + 64 - width * (8 / sizeof(T));
  const auto masked = [&](int at) {
    return _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + at)),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask + at)));
  };
  const Pair v = values_of_planes<sizeof(T)>({masked(0), masked(32)});
  typedef T Vector __attribute__((vector_size(32), may_alias));
  auto* to = reinterpret_cast<Vector*>(values);
  const auto low = (Vector)v.low, high = (Vector)v.high;
  to[0] = Folded ? (low >> 1) ^ -(low & 1) : low;
  to[1] = Folded ? (high >> 1) ^ -(high & 1) : high;
}

template <typename T>
inline bool integrate_in_registers(const T*, T*, std::size_t, std::size_t) {
  return false;
}

#include "codecs/kernels/passes.inc.hpp"

}  // namespace

extern const Kernel kernel_avx2{"avx2", begin, encode, decode, cost};

}  // namespace antiphon::codec

#else

namespace antiphon::codec {
extern const Kernel kernel_avx2{kernel_portable};
}

#endif
