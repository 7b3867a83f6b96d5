// SPDX-License-Identifier: Apache-2.0
// Blosc2: byte or bit shuffling before LZ4 or Zstandard, on one thread.
#include <dlfcn.h>

#include <cstring>
#include <type_traits>

#include "contender.hpp"

namespace antiphon::codec_bench {

namespace {

struct Functions {
  void (*init)() = nullptr;
  std::int16_t (*set_threads)(std::int16_t) = nullptr;
  int (*set_compressor)(const char*) = nullptr;
  int (*compress)(int level, int shuffle, std::size_t type_bytes, std::size_t bytes, const void* from, void* to,
                  std::size_t room) = nullptr;
  int (*decompress)(const void* from, void* to, std::size_t room) = nullptr;
  bool present() const { return init && set_threads && set_compressor && compress && decompress; }
};

Functions functions;  // of the library that blosc_contenders() opened

enum : int { byte_shuffle = 1, bit_shuffle = 2 };
constexpr std::size_t overhead_bytes = 32;  // BLOSC2_MAX_OVERHEAD

struct Setting {
  const char* name;
  const char* about;
  int shuffle;
  const char* compressor;
  int level;
};
constexpr Setting settings[] = {
    {"blosc2-shuffle-lz4", "Blosc2: bytes shuffled, LZ4", byte_shuffle, "lz4", 5},
    {"blosc2-bitshuffle-lz4", "Blosc2: bits shuffled, LZ4", bit_shuffle, "lz4", 5},
    {"blosc2-shuffle-zstd", "Blosc2: bytes shuffled, Zstandard, level 1", byte_shuffle, "zstd", 1}};

class Blosc : public Session {
 public:
  explicit Blosc(const Setting& setting) : setting_(setting) {}

  std::size_t encode(const Message& message, std::byte* out) override {
    const std::size_t raw = message.payload.size();
    const std::size_t element = message.type == Type::f32 || message.type == Type::i32 ? 4 : 8;
    functions.set_compressor(setting_.compressor);  // the setting belongs to the library, not to the session
    const int packed = functions.compress(setting_.level, setting_.shuffle, element, raw, message.payload.data(), out,
                                          raw + overhead_bytes);
    return (packed <= 0 || static_cast<std::size_t>(packed) > raw ? raw : static_cast<std::size_t>(packed)) +
           head_bytes;
  }
  void deliver(const Message& message, std::byte* raw_out) override {
    if (!message.payload.empty()) std::memcpy(raw_out, message.payload.data(), message.payload.size());
  }
  bool decode(const Message& message, const std::byte* frame, std::size_t frame_bytes, std::byte* raw_out) override {
    const std::size_t raw = message.payload.size();
    return frame_bytes - head_bytes == raw || functions.decompress(frame, raw_out, raw) == static_cast<int>(raw);
  }

 private:
  const Setting& setting_;
};

std::unique_ptr<Session> make(const Contender& contender, double) {
  return std::make_unique<Blosc>(settings[contender.setting]);
}

}  // namespace

std::vector<Contender> blosc_contenders(const std::string& path) {
  void* library = dlopen(path.empty() ? "libblosc2.so" : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](auto*& function, const char* name) {
    if (library != nullptr)
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  find(functions.init, "blosc2_init");
  find(functions.set_threads, "blosc2_set_nthreads");
  find(functions.set_compressor, "blosc1_set_compressor");
  find(functions.compress, "blosc1_compress");
  find(functions.decompress, "blosc1_decompress");
  const bool present = functions.present();
  if (present) functions.init(), functions.set_threads(1);
  std::vector<Contender> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back({settings[i].name, settings[i].about,
                   present ? "" : "libblosc2 is not installed (pip install blosc2)", make, i});
  }
  return all;
}

}  // namespace antiphon::codec_bench
