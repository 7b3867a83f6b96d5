// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "antiphon/codec.hpp"
#include "codecs/kernels/kernel.hpp"

/// What a codec is, to the rest of the library: one file src/codecs/<name>.cpp that defines `const Codec <name>`.
namespace antiphon::codec {

/// How a message is to be encoded. Codecs without parameters use the codec alone.
struct Plan {
  Id codec = Id::stored;
  Spec spec;
};

/// Earlier messages that a frame builds on.
struct Past {
  References messages = {nullptr, nullptr, nullptr};    ///< each as long as the message
  std::uint16_t distances[max_references] = {0, 0, 0};  ///< how many kept frames back each lies
  std::uint16_t hash = 0;                               ///< of all of them together
};

struct EncodeJob {
  ConstBytes raw;
  const Plan& plan;
  const Past& past;
  const Kernel& kernel;
  Work& work;
};

/// Where a decoder finds the messages that a frame names.
class PastSource {
 public:
  virtual ~PastSource() = default;
  /// Sets `message` to what lies `distance` kept frames back, and its hash; an error where there is none of that
  /// length.
  virtual Error find(std::uint16_t distance, std::size_t bytes, const std::uint8_t*& message, std::uint16_t& hash) = 0;
};

struct DecodeJob {
  ConstBytes body;
  Bytes raw_out;
  PastSource* past;  ///< nullptr: there is none
  const Kernel& kernel;
  Work& work;
};

/// What a codec expects to reach on a message.
struct Estimate {
  double bytes = 0;  ///< of the whole body; 0: not for this message
  double encode_bytes_per_s = 0;
  double decode_bytes_per_s = 0;
  Spec spec;
};

struct Codec {
  Id id;
  const char* name;
  const char* summary;
  bool (*available)();
  /// Writes the body to `out` (bound() bytes) and returns its length; 0 where it would be no shorter than the message.
  std::size_t (*encode)(const EncodeJob&, Bytes out);
  Error (*decode)(const DecodeJob&);
  /// nullptr: never chosen by itself.
  Estimate (*estimate)(ConstBytes raw, const Options&, const Kernel&, Work&);
};

/// All codecs (generated from the files in src/codecs); nullptr for an id that has none.
std::span<const Codec* const> codecs();
const Codec* find_codec(Id id);

const Kernel& kernel_of(Isa isa);
Work& work_of_thread();

inline const std::uint8_t* u8_of(ConstBytes b) { return reinterpret_cast<const std::uint8_t*>(b.data()); }
inline std::uint8_t* u8_of(Bytes b) { return reinterpret_cast<std::uint8_t*>(b.data()); }

}  // namespace antiphon::codec
