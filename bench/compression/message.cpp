// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "antiphon/text.hpp"

namespace antiphon::codec_bench {

namespace {

struct Record {
  std::uint32_t magic, type, element_bytes, operation;
  std::int32_t destination, tag;
  std::uint64_t payload_bytes;
};
static_assert(sizeof(Record) == 32);

constexpr std::uint32_t record_magic = 0x4d534731;
constexpr unsigned char zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

struct ZstdBuffer {
  void* data;
  std::size_t size, position;
};

/// Decompresses a file, which may have several frames and need not tell its length.
std::vector<char> unpacked(const std::vector<char>& packed, const std::string& path) {
  void* library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(path + ": is compressed, and libzstd.so.1 is not installed; unpack it with `zstd -d`");
  const auto make = reinterpret_cast<void* (*)()>(dlsym(library, "ZSTD_createDStream"));
  const auto go =
      reinterpret_cast<std::size_t (*)(void*, ZstdBuffer*, ZstdBuffer*)>(dlsym(library, "ZSTD_decompressStream"));
  const auto failed = reinterpret_cast<unsigned (*)(std::size_t)>(dlsym(library, "ZSTD_isError"));
  const auto end = reinterpret_cast<std::size_t (*)(void*)>(dlsym(library, "ZSTD_freeDStream"));
  void* trace = make();
  std::vector<char> out, room(1 << 20);
  ZstdBuffer in{const_cast<char*>(packed.data()), packed.size(), 0};
  std::size_t left = 1;
  for (bool more = true; more;) {
    ZstdBuffer to{room.data(), room.size(), 0};
    left = go(trace, &to, &in);
    if (failed(left)) break;
    out.insert(out.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(to.position));
    more = in.position < in.size || to.position == to.size;
  }
  end(trace);
  if (left != 0) throw std::runtime_error(path + ": its zstd data is damaged or cut off");
  return out;
}

std::vector<char> file_bytes(const std::string& path) {
  const auto text = contents_of(path);
  if (!text) throw std::runtime_error(path + ": cannot be read");
  std::vector<char> bytes(text->begin(), text->end());
  const bool packed =
      bytes.size() >= sizeof zstd_magic && std::memcmp(bytes.data(), zstd_magic, sizeof zstd_magic) == 0;
  return packed ? unpacked(bytes, path) : bytes;
}

std::string stem(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  for (const std::string ending : {".zst", ".msgs"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

}  // namespace

MessageTrace read_trace(const std::string& path) {
  const std::vector<char> bytes = file_bytes(path);
  MessageTrace trace{stem(path), "file", {}};
  std::size_t at = 0;
  const auto refuse = [&](const std::string& why) -> std::runtime_error {
    return std::runtime_error(path + ": record " + std::to_string(trace.messages.size()) + " at byte " +
                              std::to_string(at) + " " + why);
  };
  while (at < bytes.size()) {
    Record record;
    if (bytes.size() - at < sizeof record) throw refuse("is cut off");
    std::memcpy(&record, bytes.data() + at, sizeof record);
    if (record.magic != record_magic) throw refuse("does not begin as a record does");
    if (record.type < 1 || record.type > 5) throw refuse("has an unknown type");
    if (record.payload_bytes > bytes.size() - at - sizeof record) throw refuse("is cut off");
    const auto* from = reinterpret_cast<const std::byte*>(bytes.data() + at + sizeof record);
    trace.messages.push_back({static_cast<Type>(record.type),
                              record.operation,
                              record.destination,
                              record.tag,
                              {from, from + record.payload_bytes}});
    at += sizeof record + record.payload_bytes;
  }
  if (trace.messages.empty()) throw std::runtime_error(path + ": has no messages");
  return trace;
}

MessageTrace cut(const MessageTrace& trace, std::size_t message_bytes, std::size_t limit_bytes) {
  MessageTrace pieces{trace.name, trace.kind, {}};
  const Type type = trace.messages.front().type;
  std::vector<std::byte> all;
  for (const Message& message : trace.messages) {
    if (message.type != type || all.size() >= limit_bytes) continue;
    all.insert(all.end(), message.payload.begin(), message.payload.end());
  }
  for (std::size_t at = 0; at + message_bytes <= std::min(all.size(), limit_bytes); at += message_bytes) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
    pieces.messages.push_back({type, 1, 0, 0, {from, from + static_cast<std::ptrdiff_t>(message_bytes)}});
  }
  return pieces;
}

}  // namespace antiphon::codec_bench
