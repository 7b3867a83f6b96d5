// SPDX-License-Identifier: Apache-2.0
// A block is one register. It takes a byte permutation, 8 bit transposes by one GFNI instruction, and a permutation.
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

/// Indices from value bytes to groups of equal bytes of 8 values; each group is reversed as GFNI's transpose needs it.
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

/// Indices from the groups' planes to planes of the whole block.
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

/// The inverse of plane_indices, with each group reversed.
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

/// Byte j of an output group holds bit j of the group's 8 bytes; the last byte's bit becomes bit 0.
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

template <typename T, bool Folded>
inline void unpack_block(const u8* in, u32 width, T* values) {
  constexpr int es = sizeof(T);
  const __mmask64 valid = _cvtu64_mask64(_bzhi_u64(~u64{0}, width * (8 / es)));
  const __m512i planes = _mm512_maskz_loadu_epi8(valid, in);
  const __m512i groups = transposed(_mm512_permutexvar_epi8(indices(Tables<es>::group), planes));
  typedef T Vector __attribute__((vector_size(64), may_alias));
  const auto z = (Vector)_mm512_permutexvar_epi8(indices(Tables<es>::value), groups);
  *reinterpret_cast<Vector*>(values) = Folded ? (z >> 1) ^ -(z & 1) : z;
}

/// Indices for one lag shorter than a register: where values come from in a prefix sum by doubling, and in the carry
/// to the next register.
template <typename T>
struct alignas(64) Doubling {
  static constexpr std::size_t count = 64 / sizeof(T);
  T index[6][count] = {};
  T carry[count] = {};
  u64 mask[6] = {};
  int steps = 0;

  constexpr Doubling() = default;
  constexpr explicit Doubling(std::size_t lag) {
    for (std::size_t shift = lag; shift < count; shift *= 2, ++steps) {
      for (std::size_t i = shift; i < count; ++i) {
        index[steps][i] = static_cast<T>(i - shift);
        mask[steps] |= u64{1} << i;
      }
    }
    for (std::size_t i = 0; i < count; ++i) carry[i] = static_cast<T>(count - lag + i % lag);
  }
};

template <typename T>
struct AllDoublings {
  Doubling<T> of_lag[64 / sizeof(T)];
  constexpr AllDoublings() {
    for (std::size_t lag = 1; lag < 64 / sizeof(T); ++lag) of_lag[lag] = Doubling<T>(lag);
  }
};

/// The tables of the common elements are constants; other elements compute theirs when they need them.
constexpr AllDoublings<u64> doublings_of_8;
constexpr AllDoublings<u32> doublings_of_4;

template <typename T>
inline __m512i permuted(u64 mask, __m512i index, __m512i x) {
  if constexpr (sizeof(T) == 8) return _mm512_maskz_permutexvar_epi64(static_cast<__mmask8>(mask), index, x);
  if constexpr (sizeof(T) == 4) return _mm512_maskz_permutexvar_epi32(static_cast<__mmask16>(mask), index, x);
  if constexpr (sizeof(T) == 2) return _mm512_maskz_permutexvar_epi16(static_cast<__mmask32>(mask), index, x);
  return _mm512_maskz_permutexvar_epi8(mask, index, x);
}

template <typename T>
inline __m512i sum(__m512i a, __m512i b) {
  if constexpr (sizeof(T) == 8) return _mm512_add_epi64(a, b);
  if constexpr (sizeof(T) == 4) return _mm512_add_epi32(a, b);
  if constexpr (sizeof(T) == 2) return _mm512_add_epi16(a, b);
  return _mm512_add_epi8(a, b);
}

template <typename T, int Steps>
std::size_t double_up(const T* d, T* u, std::size_t n, const Doubling<T>& by) {
  constexpr std::size_t count = Doubling<T>::count;
  __m512i index[Steps];
  for (int s = 0; s < Steps; ++s) index[s] = _mm512_load_si512(by.index[s]);
  const __m512i carry_index = _mm512_load_si512(by.carry);
  __m512i carry = permuted<T>(~u64{0}, carry_index, _mm512_loadu_si512(u - count));
  std::size_t i = 0;
  for (; i + count <= n; i += count) {
    __m512i x = _mm512_loadu_si512(d + i);
    for (int s = 0; s < Steps; ++s) x = sum<T>(x, permuted<T>(by.mask[s], index[s], x));
    x = sum<T>(x, carry);
    _mm512_storeu_si512(u + i, x);
    carry = permuted<T>(~u64{0}, carry_index, x);
  }
  return i;
}

template <typename T>
std::size_t double_up(const T* d, T* u, std::size_t n, const Doubling<T>& by) {
  switch (by.steps) {
    case 1: return double_up<T, 1>(d, u, n, by);
    case 2: return double_up<T, 2>(d, u, n, by);
    case 3: return double_up<T, 3>(d, u, n, by);
    case 4: return double_up<T, 4>(d, u, n, by);
    case 5: return double_up<T, 5>(d, u, n, by);
    default: return double_up<T, 6>(d, u, n, by);
  }
}

/// Needs 64 readable bytes before `u`; those beyond the lag may hold anything.
template <typename T>
inline bool integrate_in_registers(const T* d, T* u, std::size_t n, std::size_t lag) {
  if (lag * sizeof(T) >= native_bytes || n < 2 * Doubling<T>::count) return false;
  std::size_t done = 0;
  if constexpr (sizeof(T) == 8) {
    done = double_up(d, u, n, doublings_of_8.of_lag[lag]);
  } else if constexpr (sizeof(T) == 4) {
    done = double_up(d, u, n, doublings_of_4.of_lag[lag]);
  } else {
    done = double_up(d, u, n, Doubling<T>(lag));
  }
  for (const T* before = u - lag; done < n; ++done) u[done] = static_cast<T>(d[done] + before[done]);
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
