// SPDX-License-Identifier: Apache-2.0
// The instruction set that the compiler targets by default: plain code on x86-64, NEON on aarch64.
#include "multicast/seal_kernel.inc.hpp"

namespace antiphon::multicast {

extern const Seal::Function seal_portable = &hash;

}  // namespace antiphon::multicast
