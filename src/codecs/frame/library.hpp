// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <algorithm>

#include "codecs/codec.hpp"

/// Compression libraries are loaded at run time, so that a wheel needs none of them. A machine without them only has
/// two codecs fewer.
namespace antiphon::codec {

class Library {
 public:
  explicit Library(const char* soname) : handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {}
  template <typename Function>
  Function* find(const char* symbol) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, symbol));
  }

 private:
  void* handle_;  // never closed, because the functions are used until the process ends
};

/// Predicts a body's size from a sample in the middle of the message. `compressed(sample, out)` returns the size that
/// the library gets the sample to, or 0 if it does not become shorter.
template <typename Compressed>
Estimate estimate_from_sample(ConstBytes raw, Work& work, Compressed compressed, double encode_bytes_per_s,
                              double decode_bytes_per_s) {
  constexpr std::size_t sample_bytes = 16 << 10;
  const std::size_t bytes = std::min(raw.size(), sample_bytes);
  const ConstBytes sample = raw.subspan((raw.size() - bytes) / 2, bytes);
  const std::size_t packed = compressed(sample, {reinterpret_cast<std::byte*>(work.values), sizeof work.values});
  if (packed == 0) return {};
  const double whole = static_cast<double>(packed) * static_cast<double>(raw.size()) / static_cast<double>(bytes);
  return {whole, encode_bytes_per_s, decode_bytes_per_s, {}};
}

}  // namespace antiphon::codec
