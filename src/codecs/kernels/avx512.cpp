// SPDX-License-Identifier: Apache-2.0
// A block is one register: one byte permutation, 8 bit transposes by one GFNI instruction, one more permutation.
#include "codecs/kernels/kernel.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace antiphon::codec {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t native_bytes = 64;
constexpr std::size_t max_short_lag = 64;

struct Indices {
  u8 byte[64];
};

/// Value bytes to groups of 8 values' equal bytes, each group reversed as GFNI's transposition wants it.
template <int Es>
constexpr Indices gather_indices() {
  Indices x{};
  for (int b = 0; b < Es; ++b) {
    for (int h = 0; h < 8 / Es; ++h) {
      for (int k = 0; k < 8; ++k) x.byte[(8 / Es * b + h) * 8 + k] = static_cast<u8>((8 * h + 7 - k) * Es + b);
    }
  }
  return x;
}

/// Groups' planes to planes of the whole block.
template <int Es>
constexpr Indices plane_indices() {
  Indices x{};
  for (int b = 0; b < Es; ++b) {
    for (int h = 0; h < 8 / Es; ++h) {
      for (int j = 0; j < 8; ++j) x.byte[8 / Es * (8 * b + j) + h] = static_cast<u8>((8 / Es * b + h) * 8 + j);
    }
  }
  return x;
}

/// The reverse of plane_indices, each group reversed.
template <int Es>
constexpr Indices group_indices() {
  Indices x{};
  for (int b = 0; b < Es; ++b) {
    for (int h = 0; h < 8 / Es; ++h) {
      for (int j = 0; j < 8; ++j) x.byte[(8 / Es * b + h) * 8 + 7 - j] = static_cast<u8>(8 / Es * (8 * b + j) + h);
    }
  }
  return x;
}

template <int Es>
constexpr Indices value_indices() {
  Indices x{};
  for (int b = 0; b < Es; ++b) {
    for (int h = 0; h < 8 / Es; ++h) {
      for (int k = 0; k < 8; ++k) x.byte[(8 * h + k) * Es + b] = static_cast<u8>((8 / Es * b + h) * 8 + k);
    }
  }
  return x;
}

template <int Es>
struct Tables {
  alignas(64) static constexpr Indices gather = gather_indices<Es>();
  alignas(64) static constexpr Indices plane = plane_indices<Es>();
  alignas(64) static constexpr Indices group = group_indices<Es>();
  alignas(64) static constexpr Indices value = value_indices<Es>();
};

inline __m512i indices(const Indices& x) { return _mm512_load_si512(x.byte); }

/// Out byte j of a group holds bit j of the 8 bytes, the last byte's in bit 0.
inline __m512i transposed(__m512i groups) {
  return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(static_cast<long long>(0x8040201008040201ULL)), groups, 0);
}

template <typename T>
inline u32 pack_block(const T* values, u8* out) {
  constexpr int es = sizeof(T);
  constexpr u32 units = 8 / es;
  __m512i planes = transposed(_mm512_permutexvar_epi8(indices(Tables<es>::gather), _mm512_load_si512(values)));
  if constexpr (es != 8) planes = _mm512_permutexvar_epi8(indices(Tables<es>::plane), planes);
  const u64 used = _mm512_test_epi8_mask(planes, planes);
  _mm512_storeu_si512(out, planes);
  return (64 - static_cast<u32>(_lzcnt_u64(used)) + units - 1) / units;
}

template <typename T>
inline void unpack_block(const u8* in, u32 width, T* values) {
  constexpr int es = sizeof(T);
  const __mmask64 valid = _cvtu64_mask64(_bzhi_u64(~u64{0}, width * (8 / es)));
  const __m512i planes = _mm512_maskz_loadu_epi8(valid, in);
  const __m512i groups = transposed(_mm512_permutexvar_epi8(indices(Tables<es>::group), planes));
  _mm512_store_si512(values, _mm512_permutexvar_epi8(indices(Tables<es>::value), groups));
}

/// Lags shorter than a register: prefix sums by doubling, the last values of a register carried to the next.
template <typename T>
struct Doubling {
  static constexpr std::size_t count = 64 / sizeof(T);
  __m512i index[6];
  __mmask64 mask[6];
  __m512i carry_index;
  int steps = 0;

  explicit Doubling(std::size_t lag) {
    for (std::size_t shift = lag; shift < count; shift *= 2, ++steps) {
      alignas(64) T at[count];
      u64 bits = 0;
      for (std::size_t i = 0; i < count; ++i) {
        at[i] = static_cast<T>(i < shift ? 0 : i - shift);
        if (i >= shift) bits |= u64{1} << i;
      }
      index[steps] = _mm512_load_si512(at);
      mask[steps] = bits;
    }
    alignas(64) T at[count];
    for (std::size_t i = 0; i < count; ++i) at[i] = static_cast<T>(count - lag + i % lag);
    carry_index = _mm512_load_si512(at);
  }
  static __m512i permuted(u64 mask, __m512i index, __m512i x) {
    if constexpr (sizeof(T) == 8) return _mm512_maskz_permutexvar_epi64(static_cast<__mmask8>(mask), index, x);
    if constexpr (sizeof(T) == 4) return _mm512_maskz_permutexvar_epi32(static_cast<__mmask16>(mask), index, x);
    if constexpr (sizeof(T) == 2) return _mm512_maskz_permutexvar_epi16(static_cast<__mmask32>(mask), index, x);
    return _mm512_maskz_permutexvar_epi8(mask, index, x);
  }
  static __m512i sum(__m512i a, __m512i b) {
    if constexpr (sizeof(T) == 8) return _mm512_add_epi64(a, b);
    if constexpr (sizeof(T) == 4) return _mm512_add_epi32(a, b);
    if constexpr (sizeof(T) == 2) return _mm512_add_epi16(a, b);
    return _mm512_add_epi8(a, b);
  }
};

template <typename T, int Steps>
std::size_t double_up(const T* d, T* u, std::size_t n, const Doubling<T>& by) {
  constexpr std::size_t count = Doubling<T>::count;
  // What is carried in: the last values before u, in the order of the carry's own pattern.
  __m512i carry = Doubling<T>::permuted(~u64{0}, by.carry_index, _mm512_loadu_si512(u - count));
  std::size_t i = 0;
  for (; i + count <= n; i += count) {
    __m512i x = _mm512_loadu_si512(d + i);
    for (int s = 0; s < Steps; ++s) x = Doubling<T>::sum(x, Doubling<T>::permuted(by.mask[s], by.index[s], x));
    x = Doubling<T>::sum(x, carry);
    _mm512_storeu_si512(u + i, x);
    carry = Doubling<T>::permuted(~u64{0}, by.carry_index, x);
  }
  return i;
}

/// Needs 64 readable bytes before u, whatever they hold beyond the lag.
template <typename T>
inline bool integrate_in_registers(const T* d, T* u, std::size_t n, std::size_t lag) {
  if (lag * sizeof(T) >= native_bytes || n < 2 * Doubling<T>::count) return false;
  const Doubling<T> by(lag);
  std::size_t done = 0;
  switch (by.steps) {
    case 1: done = double_up<T, 1>(d, u, n, by); break;
    case 2: done = double_up<T, 2>(d, u, n, by); break;
    case 3: done = double_up<T, 3>(d, u, n, by); break;
    case 4: done = double_up<T, 4>(d, u, n, by); break;
    case 5: done = double_up<T, 5>(d, u, n, by); break;
    default: done = double_up<T, 6>(d, u, n, by); break;
  }
  for (; done < n; ++done) u[done] = static_cast<T>(d[done] + u[done - lag]);
  return true;
}

#include "codecs/kernels/passes.inc.hpp"

}  // namespace

extern const Kernel kernel_avx512{"avx512", begin, encode, decode, cost};

}  // namespace antiphon::codec

#else

namespace antiphon::codec {
extern const Kernel kernel_avx512{kernel_portable};
}

#endif
