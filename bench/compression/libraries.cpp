// SPDX-License-Identifier: Apache-2.0
// LZ4, Zstandard and Snappy, opened at run time if they are installed.
#include <dlfcn.h>

#include <cstring>

#include "contender.hpp"

namespace antiphon::codec_bench {

namespace {

template <typename Function>
Function* symbol(const char* soname, const char* name) {
  void* library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

const char* chars(const std::byte* from) { return reinterpret_cast<const char*>(from); }
char* chars(std::byte* to) { return reinterpret_cast<char*>(to); }

/// A codec without memory of earlier messages. A message that does not become shorter is sent as it is.
class Stateless : public Session {
 public:
  std::size_t encode(const Message& message, std::byte* out) override {
    const std::size_t raw = message.payload.size(),
                      packed = pack(message.payload.data(), raw, out, bound(raw), message.type);
    return (packed == 0 || packed > raw ? raw : packed) + head_bytes;
  }
  void deliver(const Message& message, std::byte* raw_out) override {
    if (!message.payload.empty()) std::memcpy(raw_out, message.payload.data(), message.payload.size());
  }
  bool decode(const Message& message, const std::byte* frame, std::size_t frame_bytes, std::byte* raw_out) override {
    const std::size_t raw = message.payload.size(), packed = frame_bytes - head_bytes;
    return packed == raw || unpack(frame, packed, raw_out, raw) == raw;
  }

 protected:
  virtual std::size_t pack(const std::byte* from, std::size_t bytes, std::byte* to, std::size_t room, Type type) = 0;
  virtual std::size_t unpack(const std::byte* from, std::size_t bytes, std::byte* to, std::size_t room) = 0;
};

class Lz4 : public Stateless {
  using Compress = int(const char*, char*, int, int);
  Compress* compress_ = symbol<Compress>("liblz4.so.1", "LZ4_compress_default");
  Compress* decompress_ = symbol<Compress>("liblz4.so.1", "LZ4_decompress_safe");

 public:
  bool present() const { return compress_ != nullptr && decompress_ != nullptr; }
  std::size_t pack(const std::byte* from, std::size_t bytes, std::byte* to, std::size_t room, Type) override {
    return static_cast<std::size_t>(compress_(chars(from), chars(to), static_cast<int>(bytes), static_cast<int>(room)));
  }
  std::size_t unpack(const std::byte* from, std::size_t bytes, std::byte* to, std::size_t room) override {
    return static_cast<std::size_t>(
        decompress_(chars(from), chars(to), static_cast<int>(bytes), static_cast<int>(room)));
  }
};

/// Keeps its contexts, because making one costs more than a short message.
class Zstd : public Stateless {
  template <typename F>
  static F* find(const char* name) {
    return symbol<F>("libzstd.so.1", name);
  }
  using Compress = std::size_t(void*, void*, std::size_t, const void*, std::size_t, int);
  using Decompress = std::size_t(void*, void*, std::size_t, const void*, std::size_t);
  Compress* compress_ = find<Compress>("ZSTD_compressCCtx");
  Decompress* decompress_ = find<Decompress>("ZSTD_decompressDCtx");
  unsigned (*failed_)(std::size_t) = find<unsigned(std::size_t)>("ZSTD_isError");
  void* in_ = present() ? find<void*()>("ZSTD_createCCtx")() : nullptr;
  void* out_ = present() ? find<void*()>("ZSTD_createDCtx")() : nullptr;
  int level_;

 public:
  explicit Zstd(int level) : level_(level) {}
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() override {
    if (!present()) return;
    find<std::size_t(void*)>("ZSTD_freeCCtx")(in_);
    find<std::size_t(void*)>("ZSTD_freeDCtx")(out_);
  }
  bool present() const { return compress_ != nullptr && decompress_ != nullptr && failed_ != nullptr; }
  std::size_t pack(const std::byte* from, std::size_t bytes, std::byte* to, std::size_t room, Type) override {
    const std::size_t packed = compress_(in_, to, room, from, bytes, level_);
    return failed_(packed) ? 0 : packed;
  }
  std::size_t unpack(const std::byte* from, std::size_t bytes, std::byte* to, std::size_t room) override {
    return decompress_(out_, to, room, from, bytes);
  }
};

class Snappy : public Stateless {
  using Go = int(const char*, std::size_t, char*, std::size_t*);
  Go* compress_ = symbol<Go>("libsnappy.so.1", "snappy_compress");
  Go* decompress_ = symbol<Go>("libsnappy.so.1", "snappy_uncompress");
  std::size_t (*most_)(std::size_t) = symbol<std::size_t(std::size_t)>("libsnappy.so.1",
                                                                       "snappy_max_compressed_length");
  std::vector<char> room_;

 public:
  bool present() const { return compress_ != nullptr && decompress_ != nullptr && most_ != nullptr; }
  /// Snappy needs room for its worst case, a sixth more than the message.
  std::size_t pack(const std::byte* from, std::size_t bytes, std::byte* to, std::size_t room, Type) override {
    std::size_t packed = most_(bytes);
    if (packed <= room) return compress_(chars(from), bytes, chars(to), &packed) == 0 ? packed : 0;
    room_.resize(packed);
    if (compress_(chars(from), bytes, room_.data(), &packed) != 0 || packed >= bytes) return 0;
    std::memcpy(to, room_.data(), packed);
    return packed;
  }
  std::size_t unpack(const std::byte* from, std::size_t bytes, std::byte* to, std::size_t room) override {
    return decompress_(chars(from), bytes, chars(to), &room) == 0 ? room : 0;
  }
};

template <typename T, typename... Arguments>
std::string missing(const char* soname, Arguments... arguments) {
  return T(arguments...).present() ? "" : std::string(soname) + " is not installed";
}

}  // namespace

std::vector<Contender> library_contenders() {
  const auto zstd = [](const Contender& c, double) -> std::unique_ptr<Session> {
    return std::make_unique<Zstd>(c.setting);
  };
  return {{"lz4", "LZ4, default speed", missing<Lz4>("liblz4.so.1"),
           [](const Contender&, double) -> std::unique_ptr<Session> { return std::make_unique<Lz4>(); }},
          {"zstd-fast5", "Zstandard, level -5", missing<Zstd>("libzstd.so.1", 1), zstd, -5},
          {"zstd-1", "Zstandard, level 1", missing<Zstd>("libzstd.so.1", 1), zstd, 1},
          {"snappy", "Snappy", missing<Snappy>("libsnappy.so.1"),
           [](const Contender&, double) -> std::unique_ptr<Session> { return std::make_unique<Snappy>(); }}};
}

}  // namespace antiphon::codec_bench
