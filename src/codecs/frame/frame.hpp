// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codecs/codec.hpp"
#include "codecs/frame/head.hpp"

namespace antiphon::codec {

/// What a link adds to a frame that is kept as a reference.
struct Keep {
  bool kept = false;
  std::uint16_t sequence = 0;
  std::uint16_t reach = 0;  ///< how many kept frames back may still be named from now on
};

/// Writes the frame that `plan` says, or a stored one where that is no shorter.
Frame write_frame(ConstBytes raw, const Plan& plan, const Past& past, const Keep& keep, const Options& options,
                  Work& work, Bytes out);

/// A frame taken apart. `reach` is 0 for a stored frame, which does not say.
struct Parts {
  Head head;
  ConstBytes body;
  std::uint16_t reach = 0;
};
Error take_apart(ConstBytes head, ConstBytes body, Parts& parts);
Error decode_parts(const Parts& parts, Bytes raw_out, PastSource* past, const Kernel& kernel, Work& work);

/// A plan for messages by themselves, and what is expected of it.
struct Planned {
  Plan plan;
  Spec values;         ///< how values are best differenced, whether or not the plan does that
  double seconds = 0;  ///< end to end
  double bytes = 0;    ///< of its frame, for a message of raw_bytes
  std::size_t raw_bytes = 1;
  /// Looks again at what the plan's spec could be, for a later message of the same kind.
  void refresh(ConstBytes raw, const Options& options, const Kernel& kernel, Work& work);
};

/// The plan that is fastest end to end on this wire.
Planned plan_alone(ConstBytes raw, const Options& options, const Kernel& kernel, Work& work);

/// Seconds for a message of `raw_bytes` whose encoding, sending and decoding overlap, with a share for what does not.
double seconds_for(const Estimate& estimate, std::size_t raw_bytes, double wire_bytes_per_s);

}  // namespace antiphon::codec
