// SPDX-License-Identifier: Apache-2.0
#include "codecs/body/planes.hpp"

#include <algorithm>

#include "codecs/body/widths.hpp"

namespace antiphon::codec {

namespace {

int length_field_bytes(std::size_t segment) { return segment <= 0xff ? 1 : segment <= 0xffff ? 2 : 3; }

void write_spec(const Spec& spec, Writer& out) {
  out.byte(static_cast<std::uint8_t>(spec.es_log2 | static_cast<int>(spec.map) << 2 | spec.order << 4 |
                                     (spec.based ? 0x40 : 0) | (spec.record > 1 ? 0x80 : 0)));
  for (int i = 0; i < spec.order; ++i) out.varint(spec.lag[i]);
  if (spec.record > 1) out.varint(spec.record);
  if (spec.based) out.number(spec.base, static_cast<int>(spec.element_bytes()));
}

bool read_spec(Spec& spec, Reader& reader) {
  const std::uint8_t first = reader.byte();
  const int map = first >> 2 & 3;
  spec.es_log2 = first & 3;
  spec.order = first >> 4 & 3;
  spec.based = (first & 0x40) != 0;
  if (map > 2 || spec.order > 2 || (spec.based && spec.folds())) return false;
  spec.map = static_cast<Map>(map);
  for (int i = 0; i < spec.order; ++i) {
    spec.lag[i] = static_cast<std::uint16_t>(reader.varint(max_lag));
    if (spec.lag[i] == 0) return false;
  }
  if ((first & 0x80) != 0) {
    spec.record = static_cast<std::uint16_t>(reader.varint(max_record));
    if (spec.record < 2) return false;
  }
  if (spec.based) spec.base = reader.number(static_cast<int>(spec.element_bytes()));
  return reader.ok();
}

std::size_t payload_of(const std::uint8_t* widths, std::size_t blocks, const Spec& spec) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < blocks; ++i) sum += widths[i];
  return sum * (8 / spec.element_bytes());
}

}  // namespace

bool write_planes(const Spec& spec, ConstBytes raw, const References& references, const Kernel& kernel, Work& work,
                  Writer& out, std::size_t limit_bytes) {
  write_spec(spec, out);
  const std::size_t whole = raw.size() >> spec.es_log2 << spec.es_log2;
  kernel.begin(spec, work);
  for (std::size_t at = 0; at < whole; at += segment_bytes) {
    const std::size_t bytes = std::min(segment_bytes, whole - at);
    const int field_bytes = length_field_bytes(bytes);
    std::uint8_t* field = out.at();
    out.advance(static_cast<std::size_t>(field_bytes));
    const std::size_t payload = kernel.encode(spec, u8_of(raw), references, at, bytes, work, out.at());
    // Planes are of whole blocks, so those of a segment just below 256 or 65,536 bytes may outgrow its field.
    if (payload >> (8 * field_bytes) != 0) return false;
    Writer(field).number(payload, field_bytes);
    out.advance(payload);
    out.advance(write_widths(work.widths, (bytes + block_bytes - 1) / block_bytes, out.at()));
    if (out.written() >= limit_bytes) return false;
  }
  if (raw.size() > whole) std::memcpy(out.at(), raw.data() + whole, raw.size() - whole);
  out.advance(raw.size() - whole);
  return out.written() < limit_bytes;
}

Error read_planes(Spec spec, Reader& reader, const References& references, const Kernel& kernel, Work& work,
                  Bytes raw_out) {
  if (!read_spec(spec, reader)) return Error::damaged;
  const std::size_t whole = raw_out.size() >> spec.es_log2 << spec.es_log2;
  const std::uint8_t max_width = static_cast<std::uint8_t>(8 << spec.es_log2);
  kernel.begin(spec, work);
  for (std::size_t at = 0; at < whole; at += segment_bytes) {
    const std::size_t bytes = std::min(segment_bytes, whole - at);
    const std::size_t blocks = (bytes + block_bytes - 1) / block_bytes;
    const std::size_t payload_bytes = reader.number(length_field_bytes(bytes));
    const std::uint8_t* payload = reader.take(payload_bytes);
    if (payload == nullptr || !read_widths(reader, work.widths, blocks, max_width)) return Error::damaged;
    if (payload_of(work.widths, blocks, spec) != payload_bytes) return Error::damaged;
    kernel.decode(spec, u8_of(raw_out), references, at, bytes, work, payload, reader.end());
  }
  const std::uint8_t* tail = reader.take(raw_out.size() - whole);
  if (tail == nullptr || reader.left() != 0) return Error::damaged;
  if (raw_out.size() > whole) std::memcpy(raw_out.data() + whole, tail, raw_out.size() - whole);
  return Error::none;
}

}  // namespace antiphon::codec
