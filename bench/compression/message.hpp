// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Messages to measure codecs with, and the files that hold them (docs/reference/message-files.md).
namespace antiphon::codec_bench {

enum class Type : std::uint32_t { f64 = 1, f32 = 2, i32 = 3, i64 = 4, bytes = 5 };

struct Message {
  Type type = Type::bytes;
  std::uint32_t operation = 1;
  std::int32_t destination = 0;
  std::int32_t tag = 0;
  std::vector<std::byte> payload;
};

/// Everything one rank sent, in order.
struct Stream {
  std::string name;
  std::string kind;  ///< "file" or "generated"
  std::vector<Message> messages;
};

/// Reads a message file, plain or compressed by zstd; throws std::runtime_error that says what is wrong with it.
Stream read_stream(const std::string& path);

/// The stream's bytes one after the other, cut into messages of one size on one channel; at most `limit_bytes`.
Stream cut(const Stream& stream, std::size_t message_bytes, std::size_t limit_bytes);

/// Names of the generated streams.
std::span<const char* const> generated_names();
/// The same bytes for the same seed, wherever the C library has the same sin, log and exp.
Stream generate(const std::string& name, std::uint64_t seed);

}  // namespace antiphon::codec_bench
