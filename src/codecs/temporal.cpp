// SPDX-License-Identifier: Apache-2.0
// Subtracts a prediction from earlier messages of the channel, then encodes the rest like spatial
// (docs/reference/codecs/temporal.md).
#include "codecs/body/planes.hpp"

namespace antiphon::codec {

namespace {

constexpr std::uint16_t max_distance = 0x7fff;

bool always() { return true; }

std::size_t encode_body(const EncodeJob& job, Bytes out) {
  Writer writer(u8_of(out));
  const Extrapolation extrapolation = job.encoding.spec.extrapolation;
  if (extrapolation == Extrapolation::none) return 0;
  writer.byte(static_cast<std::uint8_t>(extrapolation));
  for (int i = 0; i < references_of(extrapolation); ++i) writer.varint(job.references.distances[i]);
  writer.number(job.references.hash, 2);
  return write_planes(job.encoding.spec, job.raw, job.references.messages, job.kernel, job.work, writer, job.raw.size())
             ? writer.written()
             : 0;
}

Error decode_body(const DecodeJob& job) {
  Reader reader(job.body);
  Spec spec;
  const std::uint8_t extrapolation = reader.byte();
  if (extrapolation < 1 || extrapolation > static_cast<int>(Extrapolation::parallelogram)) return Error::damaged;
  spec.extrapolation = static_cast<Extrapolation>(extrapolation);
  References messages = {nullptr, nullptr, nullptr};
  std::uint16_t expected = 0;
  for (int i = 0; i < references_of(spec.extrapolation); ++i) {
    const auto distance = static_cast<std::uint16_t>(reader.varint(max_distance));
    if (!reader.ok() || distance == 0) return Error::damaged;
    if (job.references == nullptr) return Error::missing_reference;
    std::uint16_t hash = 0;
    if (const Error error = job.references->find(distance, job.raw_out.size(), messages[i], hash); error != Error::none)
      return error;
    expected = static_cast<std::uint16_t>(expected * 3 + hash);
  }
  if (reader.number(2) != expected) return reader.ok() ? Error::wrong_reference : Error::damaged;
  return read_planes(spec, reader, messages, job.kernel, job.work, job.raw_out);
}

}  // namespace

extern const Codec temporal{Id::temporal, "temporal",  "extrapolation from earlier messages, then as spatial",
                            always,       encode_body, decode_body,
                            nullptr};

}  // namespace antiphon::codec
