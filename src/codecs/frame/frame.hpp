// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codecs/codec.hpp"
#include "codecs/frame/head.hpp"

namespace antiphon::codec {

/// A padded frame ends with its length before padding.
inline constexpr std::size_t padding_bytes = 4;

/// What a link adds to the head of a frame that both ends keep as a reference.
struct Keep {
  bool kept = false;
  std::uint16_t sequence = 0;
  std::uint16_t reach = 0;  ///< how many kept frames back later frames may still refer to
};

/// Writes the frame as `encoding` says, or a stored frame if the encoded one is not shorter.
Frame write_frame(ConstBytes raw, const Encoding& encoding, const ReferenceSet& references, const Keep& keep,
                  const Options& options, Work& work, Bytes out);

/// Completes a frame of which `bytes`, room for the head included, lie in `out`: with filling, where it is too short.
/// Returns a stored frame if that is no shorter, or if `bytes` is 0.
Frame finish_frame(ConstBytes raw, Id codec, std::size_t bytes, const Keep& keep, const Options& options, Bytes out);

/// The parts of a received frame. `reach` is 0 for a stored frame, which does not carry it.
struct Parts {
  Head head;
  ConstBytes body;
  std::uint16_t reach = 0;
};
Error take_apart(ConstBytes head, ConstBytes body, Parts& parts);
Error decode_parts(const Parts& parts, Bytes raw_out, ReferenceSource* references, const Kernel& kernel, Work& work);

/// An encoding for messages that refer to no earlier ones, and its expected results.
struct StandaloneEncoding {
  Encoding encoding;
  Spec values;         ///< the best differencing for these values, even if the encoding uses none
  double seconds = 0;  ///< from the start of encoding to the end of decoding
  double bytes = 0;    ///< expected frame size for a message of raw_bytes
  std::size_t raw_bytes = 1;
  /// Searches again around the spec, for a later message of the same kind.
  void refresh(ConstBytes raw, const Options& options, const Kernel& kernel, Work& work);
};

/// Chooses the encoding that brings the message fastest from sender to receiver on this wire.
StandaloneEncoding choose_standalone(ConstBytes raw, const Options& options, const Kernel& kernel, Work& work);

/// Estimated seconds for a message of `raw_bytes`. Encoding, sending and decoding overlap, but for a share of each.
double seconds_for(const Estimate& estimate, std::size_t raw_bytes, double wire_bytes_per_s);

}  // namespace antiphon::codec
