// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>

#include "codecs/frame/frame.hpp"
#include "codecs/predict/dfcm_predictor.hpp"

/// DFCM as paper 3 streams it: a predictor for each channel and direction, kept from message to message
/// (docs/reference/codecs/dfcm.md). A channel is all that one process sends another with one tag, since messages with
/// one tag are decoded in the order in which they were sent, and others need not be.
namespace antiphon::codec {

/// More channels of a link have no predictor: their frames stand by themselves.
inline constexpr std::size_t most_dfcm_streams = 64;

/// The number of a stream's next message, as frames carry it. 0 is the first message, for which tables are as new.
inline std::uint16_t next_in_stream(std::uint16_t number) {
  return number == 0xffff ? std::uint16_t{1} : static_cast<std::uint16_t>(number + 1);
}

class DfcmEncoder {
 public:
  /// Predictors together take at most `memory_bytes`.
  explicit DfcmEncoder(std::size_t memory_bytes)
      : most_(std::min(memory_bytes / DfcmPredictor::table_bytes, most_dfcm_streams)) {}

  /// Tells whether there is a stream for messages of this tag and size.
  bool takes(std::int64_t tag, std::size_t message_bytes);
  /// Encodes the next message of a tag that takes() found. A message that would not become shorter is stored, and
  /// changes no predictor.
  Frame encode(std::int64_t tag, ConstBytes raw, const Options& options, Bytes out);
  [[nodiscard]] std::size_t held_bytes() const { return streams_.size() * DfcmPredictor::table_bytes; }

 private:
  struct Stream {
    std::uint16_t id = 0;
    std::uint16_t number = 0;
    DfcmPredictor predictor;
  };

  std::size_t most_;
  std::map<std::int64_t, Stream> streams_;  ///< by tag
};

class DfcmDecoder {
 public:
  /// Decodes a frame of a stream. One that comes before an earlier one of its stream gives Error::missing_reference.
  Error decode(const Parts& parts, Bytes raw_out);
  [[nodiscard]] std::size_t held_bytes() const { return streams_.size() * DfcmPredictor::table_bytes; }

 private:
  struct Stream {
    std::uint16_t next = 0;
    bool broken = false;  ///< the tables differ from the sender's until its first message comes again
    DfcmPredictor predictor;
  };
  std::map<std::uint16_t, Stream> streams_;  ///< by their number in frames
};

}  // namespace antiphon::codec
