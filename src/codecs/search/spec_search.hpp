// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "codecs/codec.hpp"

/// Finds the parameters that suit a message by trying them on samples.
namespace antiphon::codec {

/// How earlier messages predict this one.
struct Prediction {
  Extrapolation extrapolation = Extrapolation::none;
  References messages = {nullptr, nullptr, nullptr};
};

struct Found {
  Spec spec;
  double bytes = 0;  ///< expected size of the planes of the whole message; 0: nothing was tried
};

/// Finds the best element size, map, order and lags for what remains of this message after `prediction` is subtracted.
/// Uses only the element hint and the message length of `options`.
Found search_spec(ConstBytes raw, const Options& options, const Prediction& prediction, const Kernel& kernel,
                  Work& work);

/// Searches near `like`, a spec that suited other messages of the channel or another prediction: all maps and orders,
/// but only its own lags and a few others.
Found search_near(const Spec& like, ConstBytes raw, const Prediction& prediction, const Kernel& kernel, Work& work);

/// Expected size of the message with exactly this spec; `few` uses smaller samples.
double expected_bytes(const Spec& spec, ConstBytes raw, const References& references, const Kernel& kernel, Work& work,
                      bool few = false);

}  // namespace antiphon::codec
