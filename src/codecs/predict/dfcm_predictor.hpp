// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// The codec of Ke, Burtscher and Speight, "Runtime Compression of MPI Messages" (SC 2004), as §2.2 and §2.3 describe
/// it. It is the baseline that the other codecs are compared with.
namespace antiphon::codec {

/// One end of a channel. In the paper a channel is everything that one process sends to another. Both ends see the same
/// values in the same order, so their tables stay equal.
class DfcmPredictor {
 public:
  /// §2.4: shorter messages are not compressed and do not change the predictor.
  static constexpr std::size_t threshold_bytes = 1024;
  static constexpr std::size_t table_bytes = 512 << 10;

  DfcmPredictor();

  /// The most bytes that encode() writes: 68 bits for each 64, and room to write ahead.
  static constexpr std::size_t bound(std::size_t raw_bytes) { return raw_bytes + raw_bytes / 16 + 32; }

  /// Encodes `raw` as 64-bit values and copies the remainder. Returns the bytes written to `out`, which has bound()
  /// bytes, or 32 more than `most_bytes`. Stops and returns 0 where they would be more than `most_bytes`.
  std::size_t encode(std::span<const std::uint8_t> raw, std::uint8_t* out, std::size_t most_bytes = SIZE_MAX);

  /// Decodes exactly `body` into `raw_out`. Returns false if encode() cannot have written `body` for that many bytes;
  /// the tables then differ from those of the other end.
  bool decode(std::span<const std::uint8_t> body, std::span<std::uint8_t> raw_out);

  /// Returns to the initial state.
  void reset();

  /// Remembers what encode() changes in so many values, until undo() takes it back or keep() leaves it.
  void begin_undoable(std::size_t values);
  void undo();
  void keep();
  /// Counts also what is remembered to be undone, at most as much as the table.
  [[nodiscard]] std::size_t held_bytes() const {
    return table_bytes + changed_.capacity() * sizeof(Changed) + (before_ == nullptr ? 0 : table_bytes);
  }

 private:
  static constexpr std::size_t lines = std::size_t{1} << 15;

  /// The differences that followed the last two times after the same three differences.
  struct Line {
    std::uint64_t latest, before;
  };
  static_assert(lines * sizeof(Line) == table_bytes);
  std::uint64_t predict() const;
  void update(std::uint64_t value);

  /// A line as it was before a change.
  struct Changed {
    std::uint32_t index;
    Line line;
  };

  std::unique_ptr<Line[]> table_;
  std::uint64_t last_ = 0;
  std::uint32_t hash_ = 0;
  bool logged_ = false;
  std::vector<Changed> changed_;    ///< since begin_undoable(); of many values, instead of that
  std::unique_ptr<Line[]> before_;  ///< the whole table as it was
  std::uint64_t last_before_ = 0;
  std::uint32_t hash_before_ = 0;
};

}  // namespace antiphon::codec
