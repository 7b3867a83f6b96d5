// SPDX-License-Identifier: Apache-2.0
// CMakeLists.txt compiles this file for SSE4.1 where that exists.
#if defined(__x86_64__)
#include "multicast/seal_kernel.inc.hpp"

namespace antiphon::multicast {

extern const Seal::Function seal_sse41 = &hash;

}  // namespace antiphon::multicast
#endif
