// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "antiphon/codec.hpp"
#include "message.hpp"

/// What is compared: Antiphon's codecs, the baseline, and libraries that are opened if they are there.
namespace antiphon::codec_bench {

/// Both ends of everything one rank sends, with what a codec keeps from message to message.
class Session {
 public:
  virtual ~Session() = default;
  /// Bytes on the wire with the frame's head; at most bound(message) are written to `out`.
  virtual std::size_t encode(const Message& message, std::byte* out) = 0;
  /// What the network itself does: bytes that travel as they are lie in the receiver's buffer when they arrive.
  virtual void deliver(const Message&, std::byte* /*raw_out*/) {}
  /// Decodes the oldest message that was encoded and not decoded yet; false where that fails.
  virtual bool decode(const Message& message, const std::byte* frame, std::size_t frame_bytes, std::byte* raw_out) = 0;
};

struct Contender {
  std::string name;
  std::string about;
  /// "" where it can be used, else why not.
  std::string missing;
  std::unique_ptr<Session> (*make)(const Contender&, double wire_bytes_per_s);
  int setting = 0;
};

/// Room for any contender's output.
constexpr std::size_t bound(std::size_t raw_bytes) { return raw_bytes + raw_bytes / 8 + 8192; }

/// The head that every codec's message would need: ours has it already.
inline constexpr std::size_t head_bytes = codec::frame_overhead_bytes;

std::vector<Contender> own_contenders();
std::vector<Contender> library_contenders();
/// `path`: the file of libblosc2, which is in no directory that the loader knows; "" to look there.
std::vector<Contender> blosc_contenders(const std::string& path);

}  // namespace antiphon::codec_bench
