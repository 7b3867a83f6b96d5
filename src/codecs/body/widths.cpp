// SPDX-License-Identifier: Apache-2.0
#include "codecs/body/widths.hpp"

namespace antiphon::codec {

namespace {

constexpr int escape = 15;
constexpr int centre = 7;  // the nibble that means "same width as before"

/// Writes the nibbles of one group to `out` and the widths that need more room to `escapes`. Returns the end of these.
std::uint8_t* write_group(const std::uint8_t* widths, std::uint8_t before, std::uint8_t* out, std::uint8_t* escapes) {
  std::uint8_t nibbles[width_group];
  int outside = 0;
  for (std::size_t i = 0; i < width_group; ++i) {
    const int step = widths[i] - (i == 0 ? before : widths[i - 1]) + centre;
    const bool fits = step >= 0 && step < escape;
    nibbles[i] = static_cast<std::uint8_t>(fits ? step : escape);
    outside += !fits;
  }
  for (std::size_t i = 0; i < width_group / 2; ++i)
    out[i] = static_cast<std::uint8_t>(nibbles[2 * i] | nibbles[2 * i + 1] << 4);
  for (std::size_t i = 0; outside > 0 && i < width_group; ++i) {
    if (nibbles[i] == escape) *escapes++ = widths[i];
  }
  return escapes;
}

}  // namespace

std::size_t write_widths(std::uint8_t* widths, std::size_t blocks, std::uint8_t* out) {
  const std::size_t groups = (blocks + width_group - 1) / width_group;
  for (std::size_t i = blocks; i < groups * width_group; ++i) widths[i] = widths[blocks - 1];
  std::uint8_t escapes[segment_bytes / block_bytes + width_group];
  std::uint8_t* escapes_end = escapes;
  std::uint8_t* map = out;
  out += (groups + 7) / 8;
  std::memset(map, 0, (groups + 7) / 8);
  std::uint8_t before = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::uint8_t* group = widths + g * width_group;
    const std::uint64_t same = before * 0x0101010101010101ULL;
    if (load<std::uint64_t>(group) == same && load<std::uint64_t>(group + 8) == same) continue;
    map[g / 8] = static_cast<std::uint8_t>(map[g / 8] | 1u << (g % 8));
    escapes_end = write_group(group, before, out, escapes_end);
    const std::size_t count = g + 1 == groups ? blocks - g * width_group : width_group;
    out += (count + 1) / 2;
    before = group[width_group - 1];
  }
  const auto escaped = static_cast<std::size_t>(escapes_end - escapes);
  std::memcpy(out, escapes, escaped);
  return static_cast<std::size_t>(out + escaped - map);
}

bool read_widths(Reader& reader, std::uint8_t* widths, std::size_t blocks, std::uint8_t max_width) {
  const std::size_t groups = (blocks + width_group - 1) / width_group;
  const std::uint8_t* map = reader.take((groups + 7) / 8);
  if (map == nullptr) return false;
  std::size_t nibble_bytes = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t count = g + 1 == groups ? blocks - g * width_group : width_group;
    if (map[g / 8] >> (g % 8) & 1) nibble_bytes += (count + 1) / 2;
  }
  const std::uint8_t* nibbles = reader.take(nibble_bytes);
  if (nibbles == nullptr) return false;
  int before = 0;
  unsigned bad = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    std::uint8_t* group = widths + g * width_group;
    const std::size_t count = g + 1 == groups ? blocks - g * width_group : width_group;
    if ((map[g / 8] >> (g % 8) & 1) == 0) {
      std::memset(group, before, count);
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const int nibble = nibbles[i / 2] >> (4 * (i & 1)) & 15;
      before = nibble == escape ? reader.byte() : before + nibble - centre;
      bad |= static_cast<unsigned>(before) > max_width;
      group[i] = static_cast<std::uint8_t>(before);
    }
    nibbles += (count + 1) / 2;
  }
  return reader.ok() && bad == 0;
}

}  // namespace antiphon::codec
