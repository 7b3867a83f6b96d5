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

/// All messages of one rank in order of sending.
struct MessageTrace {
  std::string name;
  std::string kind;  ///< "file" or "generated"
  std::vector<Message> messages;
};

/// Reads a message file, plain or compressed with zstd. Throws std::runtime_error that says what is wrong with it.
MessageTrace read_trace(const std::string& path);

/// Concatenates the trace and cuts it into messages of one size on one channel, with at most `limit_bytes` in all.
MessageTrace cut(const MessageTrace& trace, std::size_t message_bytes, std::size_t limit_bytes);

/// Names of the generated traces.
std::span<const char* const> generated_names();
/// Gives the same bytes for the same seed wherever the C library has the same sin, log and exp.
MessageTrace generate(const std::string& name, std::uint64_t seed);

}  // namespace antiphon::codec_bench
