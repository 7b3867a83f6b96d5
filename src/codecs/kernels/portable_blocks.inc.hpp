// SPDX-License-Identifier: Apache-2.0
// Turns blocks of 64 bytes into bit planes and back with 64-bit integers alone. Included in an anonymous namespace.
//
// A block of values of E bytes has U = 8/E units of 8 values. Plane p of the block has U bytes: bit i of byte h is
// bit p of value 8h+i.

/// Transposes an 8x8 matrix of bits: bit i of byte j becomes bit j of byte i.
inline u64 transposed_bits(u64 x) {
  u64 t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaULL;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccULL;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ULL;
  return x ^ t ^ (t << 28);
}

/// Swaps the bytes that `mask` selects in `a` (shifted down) with those in `b`.
inline void swap_bytes(u64& a, u64& b, int shift, u64 mask) {
  const u64 t = ((a >> shift) ^ b) & mask;
  b ^= t;
  a ^= t << shift;
}

/// Transposes bytes: byte j of row[i] becomes byte i of row[j].
inline void transposed_bytes(u64 (&row)[8]) {
  for (int i = 0; i < 4; ++i) swap_bytes(row[i], row[i + 4], 32, 0x00000000ffffffffULL);
  for (int i = 0; i < 8; i += (i & 1) ? 3 : 1) swap_bytes(row[i], row[i + 2], 16, 0x0000ffff0000ffffULL);
  for (int i = 0; i < 8; i += 2) swap_bytes(row[i], row[i + 1], 8, 0x00ff00ff00ff00ffULL);
}

/// Bytes of a block by their position in the value: qword U*b+h holds byte b of values 8h … 8h+7.
template <typename T>
inline void gather(const T* values, u64 (&group)[8]) {
  constexpr int es = sizeof(T);
  constexpr int units = 8 / es;
  if constexpr (es == 8) {
    for (int i = 0; i < 8; ++i) group[i] = values[i];
    transposed_bytes(group);
  } else {
    const u8* bytes = reinterpret_cast<const u8*>(values);
    for (int b = 0; b < es; ++b) {
      for (int h = 0; h < units; ++h) {
        u64 q = 0;
        for (int k = 0; k < 8; ++k) q |= static_cast<u64>(bytes[(8 * h + k) * es + b]) << (8 * k);
        group[units * b + h] = q;
      }
    }
  }
}

template <typename T>
inline void scatter(u64 (&group)[8], T* values) {
  constexpr int es = sizeof(T);
  constexpr int units = 8 / es;
  if constexpr (es == 8) {
    transposed_bytes(group);
    for (int i = 0; i < 8; ++i) values[i] = group[i];
  } else {
    u8* bytes = reinterpret_cast<u8*>(values);
    for (int b = 0; b < es; ++b) {
      for (int h = 0; h < units; ++h) {
        for (int k = 0; k < 8; ++k) bytes[(8 * h + k) * es + b] = static_cast<u8>(group[units * b + h] >> (8 * k));
      }
    }
  }
}

template <typename T>
inline u32 width_of(const T* values) {
  T all = 0;
  for (std::size_t i = 0; i < block_bytes / sizeof(T); ++i) all |= values[i];
  return all == 0 ? 0 : 64 - static_cast<u32>(__builtin_clzll(all));
}

/// Writes the block's planes (up to 64 bytes, of which width * U are valid) and returns its width.
template <typename T>
inline u32 pack_block_portable(const T* values, u8* out) {
  constexpr int units = 8 / static_cast<int>(sizeof(T));
  const u32 width = width_of(values);
  u64 group[8];
  gather(values, group);
  for (u32 b = 0; 8 * b < width; ++b) {
    for (int h = 0; h < units; ++h) {
      const u64 planes = transposed_bits(group[units * b + h]);
      if constexpr (units == 1) {
        __builtin_memcpy(out + 8 * b, &planes, 8);
      } else {
        for (int j = 0; j < 8; ++j) out[units * (8 * b + j) + h] = static_cast<u8>(planes >> (8 * j));
      }
    }
  }
  return width;
}

template <typename T>
inline void unpack_block_portable(const u8* in, u32 width, T* values) {
  constexpr int units = 8 / static_cast<int>(sizeof(T));
  u64 group[8] = {};
  for (u32 b = 0; 8 * b < width; ++b) {
    const u32 planes_here = width - 8 * b < 8 ? width - 8 * b : 8;
    const u64 valid = planes_here == 8 ? ~u64{0} : (u64{1} << (8 * planes_here)) - 1;
    for (int h = 0; h < units; ++h) {
      u64 planes = 0;
      if constexpr (units == 1) {
        __builtin_memcpy(&planes, in + 8 * b, 8);
      } else {
        for (u32 j = 0; j < planes_here; ++j) planes |= static_cast<u64>(in[units * (8 * b + j) + h]) << (8 * j);
      }
      group[units * b + h] = transposed_bits(planes & valid);
    }
  }
  scatter(group, values);
}
