// SPDX-License-Identifier: Apache-2.0
#include "codecs/predict/dfcm_predictor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace antiphon::codec {

namespace {

using Wide = unsigned __int128;  // the code of a value has up to 68 bits and may begin inside a byte
static_assert(std::endian::native == std::endian::little, "the wire is little-endian; add byte swaps here");

/// The sign, the exponent and two bits of the mantissa.
constexpr std::uint32_t top14(std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 50); }

}  // namespace

DfcmPredictor::DfcmPredictor() : table_(std::make_unique<Line[]>(lines)) {}

void DfcmPredictor::reset() {
  std::fill_n(table_.get(), lines, Line{0, 0});
  last_ = 0;
  hash_ = 0;
}

void DfcmPredictor::begin_undoable(std::size_t values) {
  logged_ = values <= table_bytes / sizeof(Changed);
  if (logged_) {
    changed_.reserve(values);
  } else {
    before_ = std::make_unique_for_overwrite<Line[]>(lines);
    std::copy_n(table_.get(), lines, before_.get());
  }
  last_before_ = last_;
  hash_before_ = hash_;
}

void DfcmPredictor::undo() {
  for (auto change = changed_.rbegin(); change != changed_.rend(); ++change) table_[change->index] = change->line;
  if (before_ != nullptr) table_.swap(before_);
  last_ = last_before_;
  hash_ = hash_before_;
  keep();
}

void DfcmPredictor::keep() {
  logged_ = false;
  changed_ = std::vector<Changed>();
  before_.reset();
}

/// §2.3, prediction function: returns the latest difference, plus the drift between the last two if they are close.
inline std::uint64_t DfcmPredictor::predict() const {
  const Line& line = table_[hash_];
  const std::uint64_t drift = top14(line.latest) == top14(line.before) ? line.latest - line.before : 0;
  return last_ + line.latest + drift;
}

/// §2.3, hash function: lsb 0..14 of (delta2 ^ delta1 << 5 ^ delta0 << 10), where delta2 is the latest. Shifting the
/// hash itself gives the same value, because older differences leave the 15 bits.
inline void DfcmPredictor::update(std::uint64_t value) {
  const std::uint64_t delta = value - last_;
  Line& line = table_[hash_];
  if (logged_) changed_.push_back({hash_, line});
  line = {delta, line.latest};
  hash_ = (hash_ << 5 ^ top14(delta)) & (lines - 1);
  last_ = value;
}

std::size_t DfcmPredictor::encode(std::span<const std::uint8_t> raw, std::uint8_t* out, std::size_t most_bytes) {
  const std::size_t count = raw.size() / 8;
  std::uint8_t* to = out;
  unsigned begun = 0;      // number of bits of *to that are written
  std::uint64_t held = 0;  // those bits
  for (std::size_t i = 0; i < count; ++i) {
    if (static_cast<std::size_t>(to - out) > most_bytes) return 0;
    std::uint64_t value;
    std::memcpy(&value, raw.data() + 8 * i, 8);
    const std::uint64_t difference = value ^ predict();
    update(value);
    const unsigned zeros = std::min(15u, static_cast<unsigned>(std::countl_zero(difference)) / 4);
    const Wide code = (Wide{difference} << 4 | zeros) << begun | held;
    std::memcpy(to, &code, sizeof code);
    const unsigned bits = begun + 4 + 64 - 4 * zeros;
    to += bits / 8;
    begun = bits % 8;
    held = begun == 0 ? 0 : *to;
  }
  to += begun != 0;
  const std::size_t rest = raw.size() % 8;
  if (rest != 0) std::memcpy(to, raw.data() + 8 * count, rest);
  const std::size_t bytes = static_cast<std::size_t>(to - out) + rest;
  return bytes > most_bytes ? 0 : bytes;
}

bool DfcmPredictor::decode(std::span<const std::uint8_t> body, std::span<std::uint8_t> raw_out) {
  const std::size_t count = raw_out.size() / 8, rest = raw_out.size() % 8;
  const std::uint8_t *from = body.data(), *const end = from + body.size();
  unsigned begun = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto left = static_cast<std::size_t>(end - from);
    if (left == 0) return false;
    Wide code = 0;
    if (left >= sizeof code) {
      std::memcpy(&code, from, sizeof code);
    } else {
      std::memcpy(&code, from, left);
    }
    code >>= begun;
    const auto zeros = static_cast<unsigned>(code & 15);
    const unsigned bits = 4 + 64 - 4 * zeros;
    if (begun + bits > 8 * left) return false;
    const std::uint64_t mask = ~std::uint64_t{0} >> (4 * zeros);
    const std::uint64_t value = (static_cast<std::uint64_t>(code >> 4) & mask) ^ predict();
    update(value);
    std::memcpy(raw_out.data() + 8 * i, &value, 8);
    from += (begun + bits) / 8;
    begun = (begun + bits) % 8;
  }
  if (begun != 0 && *from++ >> begun != 0) return false;  // the padding of the last byte must be zero
  if (static_cast<std::size_t>(end - from) != rest) return false;
  if (rest != 0) std::memcpy(raw_out.data() + 8 * count, from, rest);
  return true;
}

}  // namespace antiphon::codec
