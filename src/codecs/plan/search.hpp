// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "codecs/codec.hpp"

/// Finds what fits a message by trying it on samples.
namespace antiphon::codec {

/// A way to foretell the message from earlier ones.
struct Foresight {
  Extrapolation extrapolation = Extrapolation::none;
  References messages = {nullptr, nullptr, nullptr};
};

struct Found {
  Spec spec;
  double bytes = 0;  ///< expected size of the planes of the whole message; 0: nothing was tried
};

/// The best spec among element sizes, maps, orders and lags for this message, after taking away what `foresight` says.
/// Of the options, the element hint and the length of the whole message count.
Found search_spec(ConstBytes raw, const Options& options, const Foresight& foresight, const Kernel& kernel, Work& work);

/// The same around a spec that suited other messages of the channel, or this one with other foresight: maps and orders
/// anew, its lags and a few others.
Found search_near(const Spec& like, ConstBytes raw, const Foresight& foresight, const Kernel& kernel, Work& work);

/// What this very spec would make of the message; with `few`, from a glance.
double expected_bytes(const Spec& spec, ConstBytes raw, const References& references, const Kernel& kernel, Work& work,
                      bool few = false);

}  // namespace antiphon::codec
