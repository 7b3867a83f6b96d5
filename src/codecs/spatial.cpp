// SPDX-License-Identifier: Apache-2.0
// Encodes the differences between the values of one message as bit planes (docs/reference/codecs/spatial.md).
#include "codecs/body/planes.hpp"
#include "codecs/search/spec_search.hpp"

namespace antiphon::codec {

namespace {

constexpr double encode_bytes_per_s = 8e9;
constexpr double decode_bytes_per_s = 8e9;

bool always() { return true; }

std::size_t encode_body(const EncodeJob& job, Bytes out) {
  Writer writer(u8_of(out));
  return write_planes(job.encoding.spec, job.raw, job.references.messages, job.kernel, job.work, writer, job.raw.size())
             ? writer.written()
             : 0;
}

Error decode_body(const DecodeJob& job) {
  Reader reader(job.body);
  return read_planes({}, reader, {nullptr, nullptr, nullptr}, job.kernel, job.work, job.raw_out);
}

Estimate expected(ConstBytes raw, const Options& options, const Kernel& kernel, Work& work) {
  const Found found = search_spec(raw, options, {}, kernel, work);
  return {found.bytes, encode_bytes_per_s, decode_bytes_per_s, found.spec};
}

}  // namespace

extern const Codec spatial{Id::spatial, "spatial",   "differences at the lag of a record, as bit planes",
                           always,      encode_body, decode_body,
                           expected};

}  // namespace antiphon::codec
