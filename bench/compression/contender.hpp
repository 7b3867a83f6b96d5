// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "antiphon/codec.hpp"
#include "message.hpp"

/// The codecs that are compared: Antiphon's, the baseline, and libraries that are opened if they are installed.
namespace antiphon::codec_bench {

/// Both ends of all that one rank sends, with the state that a codec keeps between messages.
class Session {
 public:
  virtual ~Session() = default;
  /// Returns the bytes on the wire, including the frame's head. Writes at most bound(message) to `out`.
  virtual std::size_t encode(const Message& message, std::byte* out) = 0;
  /// Does what the network does: bytes that travel uncompressed are in the receiver's buffer when they arrive.
  virtual void deliver(const Message&, std::byte* /*raw_out*/) {}
  /// Decodes the oldest message that was encoded and not yet decoded. Returns false on failure.
  virtual bool decode(const Message& message, const std::byte* frame, std::size_t frame_bytes, std::byte* raw_out) = 0;
};

struct Contender {
  std::string name;
  std::string about;
  /// "" if the contender can be used, else why not.
  std::string missing;
  std::unique_ptr<Session> (*make)(const Contender&, double wire_bytes_per_s);
  int setting = 0;
};

/// Room for the output of any contender.
constexpr std::size_t bound(std::size_t raw_bytes) { return raw_bytes + raw_bytes / 8 + 8192; }

/// The head that a message of any codec would need; Antiphon's frames have it already.
inline constexpr std::size_t head_bytes = codec::frame_overhead_bytes;

std::vector<Contender> own_contenders();
std::vector<Contender> library_contenders();
/// `path` is the file of libblosc2 if it is in no directory that the loader searches, else "".
std::vector<Contender> blosc_contenders(const std::string& path);

}  // namespace antiphon::codec_bench
