// SPDX-License-Identifier: Apache-2.0
// Encodes exact repeats as LZ4 blocks (docs/reference/codecs/lz4.md).
#include <algorithm>

#include "codecs/codec.hpp"
#include "codecs/frame/library.hpp"

namespace antiphon::codec {

namespace {

constexpr double encode_bytes_per_s = 2e9;  // measured only on data that LZ4 compresses
constexpr double decode_bytes_per_s = 4e9;
constexpr std::size_t max_bytes = 0x7e000000;  // LZ4_MAX_INPUT_SIZE

struct Functions {
  Library library{"liblz4.so.1"};
  int (*compress)(const char*, char*, int, int,
                  int) = library.find<int(const char*, char*, int, int, int)>("LZ4_compress_fast");
  int (*decompress)(const char*, char*, int,
                    int) = library.find<int(const char*, char*, int, int)>("LZ4_decompress_safe");
};

const Functions& functions() {
  static const Functions found;
  return found;
}

bool available() { return functions().compress != nullptr && functions().decompress != nullptr; }

std::size_t compressed(ConstBytes raw, Bytes out) {
  if (raw.size() > max_bytes || !available()) return 0;
  const int room = static_cast<int>(std::min(out.size(), raw.size() - 1));
  const int bytes = functions().compress(reinterpret_cast<const char*>(raw.data()), reinterpret_cast<char*>(out.data()),
                                         static_cast<int>(raw.size()), room, 1);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

std::size_t encode_body(const EncodeJob& job, Bytes out) { return compressed(job.raw, out); }

Error decode_body(const DecodeJob& job) {
  if (job.raw_out.size() > max_bytes || job.body.size() > max_bytes) return Error::damaged;
  const int bytes = functions().decompress(reinterpret_cast<const char*>(job.body.data()),
                                           reinterpret_cast<char*>(job.raw_out.data()),
                                           static_cast<int>(job.body.size()), static_cast<int>(job.raw_out.size()));
  return bytes == static_cast<int>(job.raw_out.size()) ? Error::none : Error::damaged;
}

Estimate expected(ConstBytes raw, const Options&, const Kernel&, Work& work) {
  return estimate_from_sample(raw, work, compressed, encode_bytes_per_s, decode_bytes_per_s);
}

}  // namespace

extern const Codec lz4{Id::lz4, "lz4", "exact repeats, fast", available, encode_body, decode_body, expected};

}  // namespace antiphon::codec
