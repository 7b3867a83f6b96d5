// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "codecs/codec.hpp"

/// Finds what fits a message by trying it on samples.
namespace antiphon::codec {

struct Found {
  Spec spec;
  double bytes = 0;  ///< expected size of the planes of the whole message
};

/// A way to foretell the message from earlier ones.
struct Foresight {
  Extrapolation extrapolation = Extrapolation::none;
  References messages = {nullptr, nullptr, nullptr};
};

/// The best spec among all element sizes, maps, orders and lags for this message, after taking away what `foresight` says.
Found search_spec(ConstBytes raw, Element element, const Foresight& foresight, const Kernel& kernel, Work& work);

/// What this very spec would make of the message.
double expected_bytes(const Spec& spec, ConstBytes raw, const References& references, const Kernel& kernel, Work& work);

}  // namespace antiphon::codec
