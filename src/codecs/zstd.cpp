// SPDX-License-Identifier: Apache-2.0
// Encodes exact repeats and skewed byte frequencies with Zstandard (docs/reference/codecs/zstd.md).
#include <algorithm>

#include "codecs/codec.hpp"
#include "codecs/frame/library.hpp"

namespace antiphon::codec {

namespace {

constexpr double encode_bytes_per_s = 0.7e9;
constexpr double decode_bytes_per_s = 1.0e9;
constexpr int level = 1;

struct Functions {
  Library library{"libzstd.so.1"};
  void* (*new_compressor)() = library.find<void*()>("ZSTD_createCCtx");
  void* (*new_decompressor)() = library.find<void*()>("ZSTD_createDCtx");
  std::size_t (*free_compressor)(void*) = library.find<std::size_t(void*)>("ZSTD_freeCCtx");
  std::size_t (*free_decompressor)(void*) = library.find<std::size_t(void*)>("ZSTD_freeDCtx");
  std::size_t (*compress)(void*, void*, std::size_t, const void*, std::size_t, int) =
      library.find<std::size_t(void*, void*, std::size_t, const void*, std::size_t, int)>("ZSTD_compressCCtx");
  std::size_t (*decompress)(void*, void*, std::size_t, const void*, std::size_t) =
      library.find<std::size_t(void*, void*, std::size_t, const void*, std::size_t)>("ZSTD_decompressDCtx");
  unsigned (*is_error)(std::size_t) = library.find<unsigned(std::size_t)>("ZSTD_isError");
  bool complete() const {
    return new_compressor && new_decompressor && free_compressor && free_decompressor && compress && decompress &&
           is_error;
  }
};

const Functions& functions() {
  static const Functions found;
  return found;
}

bool available() { return functions().complete(); }

/// The contexts of one thread. They are reused because making one costs more than compressing a short message.
struct Contexts {
  void* compressor = functions().new_compressor();
  void* decompressor = functions().new_decompressor();
  Contexts() = default;
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;
  ~Contexts() {
    functions().free_compressor(compressor);
    functions().free_decompressor(decompressor);
  }
};

Contexts& contexts() {
  thread_local Contexts own;
  return own;
}

std::size_t compressed(ConstBytes raw, Bytes out) {
  if (!available()) return 0;
  const std::size_t room = std::min(out.size(), raw.size() - 1);
  const std::size_t bytes =
      functions().compress(contexts().compressor, out.data(), room, raw.data(), raw.size(), level);
  return functions().is_error(bytes) ? 0 : bytes;
}

std::size_t encode_body(const EncodeJob& job, Bytes out) { return compressed(job.raw, out); }

Error decode_body(const DecodeJob& job) {
  const std::size_t bytes = functions().decompress(contexts().decompressor, job.raw_out.data(), job.raw_out.size(),
                                                   job.body.data(), job.body.size());
  return !functions().is_error(bytes) && bytes == job.raw_out.size() ? Error::none : Error::damaged;
}

Estimate expected(ConstBytes raw, const Options&, const Kernel&, Work& work) {
  return estimate_from_sample(raw, work, compressed, encode_bytes_per_s, decode_bytes_per_s);
}

}  // namespace

extern const Codec zstd{Id::zstd,    "zstd",  "exact repeats and skewed bytes", available, encode_body,
                        decode_body, expected};

}  // namespace antiphon::codec
