// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "antiphon/codec.hpp"
#include "codecs/kernels/kernel.hpp"

/// The interface between one codec and the rest of the library. Each file src/codecs/<name>.cpp defines one codec as
/// `const Codec <name>`.
namespace antiphon::codec {

/// How a message is encoded. Codecs without parameters ignore `spec`.
struct Encoding {
  Id codec = Id::stored;
  Spec spec;
};

/// The earlier messages that a frame builds on.
struct ReferenceSet {
  References messages = {nullptr, nullptr, nullptr};    ///< each is as long as the message
  std::uint16_t distances[max_references] = {0, 0, 0};  ///< how many kept frames back each message lies
  std::uint16_t hash = 0;                               ///< combined hash of all the messages
};

struct EncodeJob {
  ConstBytes raw;
  const Encoding& encoding;
  const ReferenceSet& references;
  const Kernel& kernel;
  Work& work;
};

/// The place where a decoder finds the messages that a frame refers to.
class ReferenceSource {
 public:
  virtual ~ReferenceSource() = default;
  /// Sets `message` and `hash` to the message that lies `distance` kept frames back. Returns an error if no message of
  /// that length lies there.
  virtual Error find(std::uint16_t distance, std::size_t bytes, const std::uint8_t*& message, std::uint16_t& hash) = 0;
};

struct DecodeJob {
  ConstBytes body;
  Bytes raw_out;
  ReferenceSource* references;  ///< nullptr if the decoder has no earlier messages
  const Kernel& kernel;
  Work& work;
};

/// What a codec expects to achieve on a message.
struct Estimate {
  double bytes = 0;  ///< size of the whole body; 0: the codec does not suit this message
  double encode_bytes_per_s = 0;
  double decode_bytes_per_s = 0;
  Spec spec;
};

struct Codec {
  Id id;
  const char* name;
  const char* summary;
  bool (*available)();
  /// Writes the body to `out` (bound() bytes) and returns its length, or 0 if it would be no shorter than the message.
  std::size_t (*encode)(const EncodeJob&, Bytes out);
  Error (*decode)(const DecodeJob&);
  /// Predicts size and speed. nullptr: the codec is used only when the caller asks for it by name.
  Estimate (*estimate)(ConstBytes raw, const Options&, const Kernel&, Work&);
};

/// All codecs; the list is generated from the files in src/codecs. find_codec() returns nullptr for an unknown id.
std::span<const Codec* const> codecs();
const Codec* find_codec(Id id);

const Kernel& kernel_of(Isa isa);
Work& work_of_thread();

inline const std::uint8_t* u8_of(ConstBytes b) { return reinterpret_cast<const std::uint8_t*>(b.data()); }
inline std::uint8_t* u8_of(Bytes b) { return reinterpret_cast<std::uint8_t*>(b.data()); }

}  // namespace antiphon::codec
