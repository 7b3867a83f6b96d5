// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "codecs/frame/bytes.hpp"
#include "codecs/kernels/kernel.hpp"

/// The table of block widths of one segment (docs/reference/codecs/spatial.md, "Widths").
namespace antiphon::codec {

inline constexpr std::size_t width_group = 16;

/// The largest number of bytes that write_widths() writes.
constexpr std::size_t widths_bound(std::size_t blocks) { return blocks / 8 + blocks * 3 / 2 + 64; }

/// `widths` must have room for width_group more bytes after `blocks`.
std::size_t write_widths(std::uint8_t* widths, std::size_t blocks, std::uint8_t* out);
/// Reads widths of at most `max_width` each. Returns false if the table is not valid.
bool read_widths(Reader& reader, std::uint8_t* widths, std::size_t blocks, std::uint8_t max_width);

}  // namespace antiphon::codec
