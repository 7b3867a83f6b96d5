// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// The inner loops of the spatial and temporal codecs, compiled once per instruction set
/// (docs/reference/codecs/spatial.md).
namespace antiphon::codec {

inline constexpr std::size_t block_bytes = 64;          ///< the values that share one width: 8 doubles, 16 floats, …
inline constexpr std::size_t segment_bytes = 64 << 10;  ///< the blocks that share one table of widths
inline constexpr std::size_t chunk_bytes = 4 << 10;     ///< the bytes that one pass handles; they stay in the L1 cache
inline constexpr int max_lag = 4095;
inline constexpr int max_record = 64;
inline constexpr int max_references = 3;

/// How values are turned into unsigned integers with small differences.
enum class Map : std::uint8_t { plain, ordered, rotated };

/// How earlier messages a, b, c (a is the latest) predict this one.
enum class Extrapolation : std::uint8_t { none, last, linear, quadratic, parallelogram };
constexpr int references_of(Extrapolation e) {
  return e == Extrapolation::none ? 0 : e == Extrapolation::last ? 1 : e == Extrapolation::linear ? 2 : 3;
}

/// All parameters that turn values into residuals.
struct Spec {
  std::uint8_t es_log2 = 0;  ///< an element has 1 << es_log2 bytes
  Map map = Map::plain;
  std::uint8_t order = 0;  ///< number of spatial differences taken: 0, 1 or 2
  std::uint16_t lag[2] = {0, 0};
  bool based = false;  ///< order 0: the residual is value - base
  std::uint64_t base = 0;
  std::uint16_t record =
      0;  ///< 2 to max_record: a block holds one field of consecutive records, that is, values this far apart
  Extrapolation extrapolation = Extrapolation::none;

  std::size_t element_bytes() const { return std::size_t{1} << es_log2; }
  std::size_t history_values() const { return order == 0 ? 0 : order == 1 ? lag[0] : std::size_t{lag[0]} + lag[1]; }
  /// Tells whether signed residuals are folded (0, -1, 1, -2 … become 0, 1, 2, 3 …).
  bool folds() const { return order > 0 || extrapolation != Extrapolation::none; }
  bool operator==(const Spec&) const = default;
};

/// Earlier messages of the same length, the latest first.
using References = const std::uint8_t* [max_references];

/// Scratch memory of one encoder or decoder: mapped values after the history that differences need, and a chunk of
/// residuals.
struct Work {
  static constexpr std::size_t values_bytes = 2 * 2 * (max_lag + 1) * 8 + 4 * chunk_bytes;
  alignas(64) std::uint8_t values[values_bytes];
  alignas(64) std::uint8_t residuals[chunk_bytes + 64];
  alignas(64) std::uint8_t grouped[chunk_bytes + 64];
  alignas(64) std::uint8_t partial[chunk_bytes + 64 * 8 + 64];
  alignas(64) std::uint8_t widths[segment_bytes / block_bytes + 64];
  std::size_t at = 0;  ///< index in `values` where the next chunk goes
};

struct Kernel {
  const char* name;
  /// Forgets the history, because a new message begins.
  void (*begin)(const Spec&, Work&);
  /// Encodes the next `bytes` of a message, a multiple of the element and at most segment_bytes. Writes one width per
  /// block to work.widths and the planes to `payload` (room for bytes + 64); `at` is the offset in the message. Returns
  /// the payload's length.
  std::size_t (*encode)(const Spec&, const std::uint8_t* message, const References& references, std::size_t at,
                        std::size_t bytes, Work&, std::uint8_t* payload);
  /// Decodes. The widths in work.widths must be valid and add up to at most readable_end - payload.
  void (*decode)(const Spec&, std::uint8_t* message, const References& references, std::size_t at, std::size_t bytes,
                 Work&, const std::uint8_t* payload, const std::uint8_t* readable_end);
  /// Returns the payload bits of the blocks in [at, at + bytes), for planning. Reads the message before `at` as far as
  /// the lags reach.
  std::size_t (*cost)(const Spec&, const std::uint8_t* message, const References& references, std::size_t at,
                      std::size_t bytes, Work&);
};

extern const Kernel kernel_portable;
extern const Kernel kernel_avx2;  ///< the portable kernel where the compiler does not target x86-64
extern const Kernel kernel_avx512;

}  // namespace antiphon::codec
