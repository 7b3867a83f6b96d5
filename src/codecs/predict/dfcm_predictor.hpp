// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// The codec of Ke, Burtscher and Speight, "Runtime Compression of MPI Messages" (SC 2004), §2.2 and §2.3, as described
/// there: the baseline beside which the others are measured.
namespace antiphon::codec {

/// One end of a channel, which in the paper is everything that one process sends another. Both ends see the same values
/// in the same order, so their tables stay alike.
class DfcmPredictor {
 public:
  /// §2.4: shorter messages are not compressed, and make no predictor.
  static constexpr std::size_t threshold_bytes = 1024;

  DfcmPredictor();

  /// Longest that encode() makes of so many bytes: 68 bits for each 64, and room to write ahead.
  static constexpr std::size_t bound(std::size_t raw_bytes) { return raw_bytes + raw_bytes / 16 + 32; }

  /// Encodes `raw` as 64-bit values, the rest as it is; returns the bytes written to `out`, which has bound() of them.
  std::size_t encode(std::span<const std::uint8_t> raw, std::uint8_t* out);

  /// Fills `raw_out` from exactly `body`. False where `body` is none of encode()'s for that many bytes; the tables are
  /// then no longer those of the other end.
  bool decode(std::span<const std::uint8_t> body, std::span<std::uint8_t> raw_out);

  /// As new.
  void reset();

 private:
  static constexpr std::size_t lines = std::size_t{1} << 15;

  /// What followed the last two times that the same three differences were seen.
  struct Line {
    std::uint64_t latest, before;
  };
  std::uint64_t predict() const;
  void update(std::uint64_t value);

  std::unique_ptr<Line[]> table_;  // 512 KiB
  std::uint64_t last_ = 0;
  std::uint32_t hash_ = 0;
};

}  // namespace antiphon::codec
