// SPDX-License-Identifier: Apache-2.0
// The passes that use no special instructions: the compiler vectorises them for the set that includes this file.
// Each instruction set includes it inside an anonymous namespace, after `native_bytes`, pack_block and unpack_block.
// It calls nothing of the standard library: the linker could pick such a function compiled for a newer machine.

#include "codecs/kernels/maps.inc.hpp"

/// Turns mapped values, which have history before them, into residuals.
template <typename T>
void residuals_of(const Spec& spec, const T* u, T* __restrict z, std::size_t n) {
  const T* a = u - spec.lag[0];
  if (spec.order == 2) {
    const T* b = u - spec.lag[1];
    const T* ab = a - spec.lag[1];
    for (std::size_t i = 0; i < n; ++i) z[i] = folded(static_cast<T>((u[i] - a[i]) - (b[i] - ab[i])));
  } else if (spec.order == 1) {
    for (std::size_t i = 0; i < n; ++i) z[i] = folded(static_cast<T>(u[i] - a[i]));
  } else if (spec.folds()) {
    for (std::size_t i = 0; i < n; ++i) z[i] = folded(u[i]);
  } else {
    const T base = static_cast<T>(spec.base);
    for (std::size_t i = 0; i < n; ++i) z[i] = static_cast<T>(u[i] - base);
  }
}

/// Computes u[i] = d[i] + u[i - lag] for lags of at least a vector, where no value depends on another of its vector.
template <typename T>
void integrate_far(const T* d, T* u, std::size_t n, std::size_t lag) {
  typedef T Vector __attribute__((vector_size(native_bytes), aligned(1), may_alias));
  constexpr std::size_t step = native_bytes / sizeof(T);
  const T* before = u - lag;
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    *reinterpret_cast<Vector*>(u + i) =
        *reinterpret_cast<const Vector*>(d + i) + *reinterpret_cast<const Vector*>(before + i);
  }
  for (; i < n; ++i) u[i] = static_cast<T>(d[i] + before[i]);
}

/// Does the same for a lag so short that the sum is a chain of additions; its last values stay in registers.
template <typename T, int Lag>
void integrate_chain(const T* d, T* u, std::size_t n) {
  T last[Lag];
  const T* before = u - Lag;
  for (int k = 0; k < Lag; ++k) last[k] = before[k];
  std::size_t i = 0;
  for (; i + Lag <= n; i += Lag) {
    for (int k = 0; k < Lag; ++k) u[i + k] = last[k] = static_cast<T>(d[i + k] + last[k]);
  }
  for (; i < n; ++i) u[i] = static_cast<T>(d[i] + before[i]);
}

/// Does the same for longer lags, as rows of that length: the last values of a column of `Bytes` stay in a register.
/// A reload of what was just stored would wait for two stores, as it seldom matches one. Narrower columns do the rest.
template <typename T, std::size_t Bytes>
void integrate_columns(const T* d, T* u, std::size_t n, std::size_t lag, std::size_t column) {
  typedef T Vector __attribute__((vector_size(Bytes), aligned(1), may_alias));
  constexpr std::size_t width = Bytes / sizeof(T);
  for (; column + width <= lag; column += width) {
    Vector last = *reinterpret_cast<const Vector*>(u + column - lag);
    std::size_t i = column;
    for (; i + width <= n; i += lag)
      *reinterpret_cast<Vector*>(u + i) = last += *reinterpret_cast<const Vector*>(d + i);
    for (; i < n; ++i) u[i] = static_cast<T>(d[i] + (u - lag)[i]);
  }
  if constexpr (Bytes > sizeof(T)) integrate_columns<T, Bytes / 2>(d, u, n, lag, column);
}

template <typename T>
void integrate(const T* d, T* u, std::size_t n, std::size_t lag) {
  if (integrate_in_registers(d, u, n, lag)) return;
  constexpr std::size_t far_bytes = 16 * native_bytes;
  switch (lag) {
    case 1: return integrate_chain<T, 1>(d, u, n);
    case 2: return integrate_chain<T, 2>(d, u, n);
    case 3: return integrate_chain<T, 3>(d, u, n);
    default: break;
  }
  if (lag * sizeof(T) >= far_bytes || lag * sizeof(T) % native_bytes == 0) return integrate_far(d, u, n, lag);
  integrate_columns<T, native_bytes>(d, u, n, lag, 0);
}

/// Turns unfolded residuals into mapped values. `v` has room for n values after max_short_lag values of history.
template <typename T>
void values_of(const Spec& spec, T* z, T* u, T* v, std::size_t n) {
  if (spec.order == 0) {
    const T base = spec.folds() ? T{0} : static_cast<T>(spec.base);
    for (std::size_t i = 0; i < n; ++i) u[i] = static_cast<T>(z[i] + base);
    return;
  }
  std::size_t near = spec.lag[0];
  if (spec.order == 2) {
    std::size_t far = spec.lag[1];
    if (near > far) {
      const std::size_t swap = near;
      near = far;
      far = swap;
    }
    if (far > max_short_lag) {
      // A step is at most `far` values, so that the values it builds on are known.
      for (std::size_t i = 0; i < n;) {
        const std::size_t now = n - i < far ? n - i : far;
        const T* b = u + i - far;
        const T* ab = b - near;
        for (std::size_t k = 0; k < now; ++k) v[k] = static_cast<T>(z[i + k] + (b[k] - ab[k]));
        integrate(v, u + i, now, near);
        i += now;
      }
      return;
    }
    // Both lags are short: undo the inner difference first, which has the values' own history.
    T* inner = v + max_short_lag;
    const T* past = u - far;
    for (std::size_t k = 0; k < far; ++k) (inner - far)[k] = static_cast<T>(past[k] - (past - near)[k]);
    integrate(z, inner, n, far);
    z = inner;
  }
  integrate(z, u, n, near);
}

/// Bytes kept before the next chunk: whole blocks that cover the lags, and at least one that vector code may read.
inline std::size_t history_of(const Spec& spec) {
  const std::size_t bytes = spec.history_values() << spec.es_log2;
  return bytes < block_bytes ? block_bytes : (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

/// Bytes that one pass handles: whole groups of records if there are records.
inline std::size_t step_of(const Spec& spec) {
  if (spec.record < 2) return chunk_bytes;
  const std::size_t group = block_bytes * spec.record;
  return chunk_bytes / group * group;
}

/// Collects each field of the records that fill whole blocks, one field after the other; the rest keeps its order.
template <typename T>
void group_fields(const T* z, T* __restrict grouped, std::size_t n, std::size_t record) {
  constexpr std::size_t per_block = block_bytes / sizeof(T);
  const std::size_t rows = n / (record * per_block) * per_block;
  for (std::size_t f = 0; f < record; ++f) {
    for (std::size_t r = 0; r < rows; ++r) grouped[f * rows + r] = z[r * record + f];
  }
  __builtin_memcpy(grouped + rows * record, z + rows * record, (n - rows * record) * sizeof(T));
}

template <typename T>
void ungroup_fields(const T* grouped, T* __restrict z, std::size_t n, std::size_t record) {
  constexpr std::size_t per_block = block_bytes / sizeof(T);
  const std::size_t rows = n / (record * per_block) * per_block;
  for (std::size_t f = 0; f < record; ++f) {
    for (std::size_t r = 0; r < rows; ++r) z[r * record + f] = grouped[f * rows + r];
  }
  __builtin_memcpy(z + rows * record, grouped + rows * record, (n - rows * record) * sizeof(T));
}

/// Puts residuals into the order of their blocks and fills the last block with zeros.
template <typename T>
const u8* in_block_order(const Spec& spec, Work& work, std::size_t n) {
  const T* z = reinterpret_cast<const T*>(work.residuals);
  u8* result = work.residuals;
  if (spec.record > 1) {
    result = work.grouped;
    group_fields(z, reinterpret_cast<T*>(result), n, spec.record);
  }
  __builtin_memset(result + n * sizeof(T), 0, block_bytes);
  return result;
}

/// Returns where the next chunk of n values goes. Moves the history to the front when the buffer ends.
template <typename T>
T* room_for(const Spec& spec, Work& work, std::size_t n) {
  const std::size_t history = history_of(spec);
  const std::size_t round = history + 4 * chunk_bytes < 2 * history + 2 * chunk_bytes ? 2 * history + 2 * chunk_bytes
                                                                                      : history + 4 * chunk_bytes;
  const std::size_t limit = round < Work::values_bytes ? round : Work::values_bytes;
  if (work.at + n * sizeof(T) > limit) {
    __builtin_memmove(work.values, work.values + work.at - history, history);
    work.at = history;
  }
  T* u = reinterpret_cast<T*>(work.values + work.at);
  work.at += n * sizeof(T);
  return u;
}

template <typename T>
std::size_t encode_as(const Spec& spec, const u8* message, const References& references, std::size_t at,
                      std::size_t bytes, Work& work, u8* payload) {
  u8* out = payload;
  u8* widths = work.widths;
  T* z = reinterpret_cast<T*>(work.residuals);
  const std::size_t step = step_of(spec);
  for (std::size_t done = 0; done < bytes; done += step) {
    const std::size_t now = bytes - done < step ? bytes - done : step;
    const std::size_t n = now / sizeof(T);
    T* u = room_for<T>(spec, work, n);
    with_maps(spec, Take<T>{u, message, references, at + done, n});
    residuals_of(spec, u, z, n);
    const u8* blocks = in_block_order<T>(spec, work, n);
    for (std::size_t b = 0; b < now; b += block_bytes) {
      const u32 width = pack_block(reinterpret_cast<const T*>(blocks + b), out);
      *widths++ = static_cast<u8>(width);
      out += width * (8 / sizeof(T));
    }
  }
  return static_cast<std::size_t>(out - payload);
}

/// Turns blocks into residuals and unfolds them if `Folded`. Returns the position of the next block.
template <typename T, bool Folded>
const u8* unpack_chunk(const u8* widths, std::size_t bytes, const u8* payload, const u8* readable_end, T* z) {
  for (std::size_t b = 0; b < bytes; b += block_bytes, z += block_bytes / sizeof(T)) {
    const u32 width = *widths++;
    const std::size_t length = width * (8 / sizeof(T));
    if (static_cast<std::size_t>(readable_end - payload) >= block_bytes) {
      unpack_block<T, Folded>(payload, width, z);
    } else {
      alignas(64) u8 end[block_bytes];
      __builtin_memcpy(end, payload, length);
      unpack_block<T, Folded>(end, width, z);
    }
    payload += length;
  }
  return payload;
}

template <typename T>
void decode_as(const Spec& spec, u8* message, const References& references, std::size_t at, std::size_t bytes,
               Work& work, const u8* payload, const u8* readable_end) {
  const u8* widths = work.widths;
  T* z = reinterpret_cast<T*>(work.residuals);
  T* v = reinterpret_cast<T*>(work.partial);
  T* blocks = spec.record > 1 ? reinterpret_cast<T*>(work.grouped) : z;
  const std::size_t step = step_of(spec);
  for (std::size_t done = 0; done < bytes; done += step) {
    const std::size_t now = bytes - done < step ? bytes - done : step;
    const std::size_t n = now / sizeof(T);
    payload = spec.folds() ? unpack_chunk<T, true>(widths, now, payload, readable_end, blocks)
                           : unpack_chunk<T, false>(widths, now, payload, readable_end, blocks);
    widths += (now + block_bytes - 1) / block_bytes;
    if (spec.record > 1) ungroup_fields(blocks, z, n, spec.record);
    T* u = room_for<T>(spec, work, n);
    values_of(spec, z, u, v, n);
    with_maps(spec, Give<T>{u, message, references, at + done, n});
  }
}

template <typename T>
std::size_t cost_as(const Spec& spec, const u8* message, const References& references, std::size_t at,
                    std::size_t bytes, Work& work) {
  const std::size_t history = history_of(spec);
  const std::size_t known = history < at ? history : at;
  __builtin_memset(work.values, 0, history - known);
  T* u = reinterpret_cast<T*>(work.values + history);
  T* z = reinterpret_cast<T*>(work.residuals);
  with_maps(spec, Take<T>{u - known / sizeof(T), message, references, at - known, (known + bytes) / sizeof(T)});
  residuals_of(spec, u, z, bytes / sizeof(T));
  z = reinterpret_cast<T*>(const_cast<u8*>(in_block_order<T>(spec, work, bytes / sizeof(T))));
  std::size_t bits = 0;
  u32 before = ~u32{0};
  u32 changes = 0;
  for (std::size_t b = 0; b < bytes; b += block_bytes) {
    T all = 0;
    for (std::size_t i = 0; i < block_bytes / sizeof(T); ++i) all |= z[b / sizeof(T) + i];
    const u32 width = all == 0 ? 0 : 64 - static_cast<u32>(__builtin_clzll(all));
    bits += width * (block_bytes / sizeof(T));
    changes += width != before;
    before = width;
  }
  // A table entry is half a byte, and 16 equal entries take one bit.
  return bits + (changes == 1 ? bytes / (16 * block_bytes) : bytes / block_bytes * 4);
}

void begin(const Spec& spec, Work& work) {
  work.at = history_of(spec);
  __builtin_memset(work.values, 0, work.at);
}

std::size_t encode(const Spec& spec, const u8* message, const References& references, std::size_t at, std::size_t bytes,
                   Work& work, u8* payload) {
  switch (spec.es_log2) {
    case 0: return encode_as<u8>(spec, message, references, at, bytes, work, payload);
    case 1: return encode_as<u16>(spec, message, references, at, bytes, work, payload);
    case 2: return encode_as<u32>(spec, message, references, at, bytes, work, payload);
    default: return encode_as<u64>(spec, message, references, at, bytes, work, payload);
  }
}

void decode(const Spec& spec, u8* message, const References& references, std::size_t at, std::size_t bytes, Work& work,
            const u8* payload, const u8* readable_end) {
  switch (spec.es_log2) {
    case 0: return decode_as<u8>(spec, message, references, at, bytes, work, payload, readable_end);
    case 1: return decode_as<u16>(spec, message, references, at, bytes, work, payload, readable_end);
    case 2: return decode_as<u32>(spec, message, references, at, bytes, work, payload, readable_end);
    default: return decode_as<u64>(spec, message, references, at, bytes, work, payload, readable_end);
  }
}

std::size_t cost(const Spec& spec, const u8* message, const References& references, std::size_t at, std::size_t bytes,
                 Work& work) {
  switch (spec.es_log2) {
    case 0: return cost_as<u8>(spec, message, references, at, bytes, work);
    case 1: return cost_as<u16>(spec, message, references, at, bytes, work);
    case 2: return cost_as<u32>(spec, message, references, at, bytes, work);
    default: return cost_as<u64>(spec, message, references, at, bytes, work);
  }
}
