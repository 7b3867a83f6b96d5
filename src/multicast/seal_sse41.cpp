// SPDX-License-Identifier: Apache-2.0
// Compiled for SSE4.1 where that exists (CMakeLists.txt).
#if defined(__x86_64__)
#include "multicast/seal_kernel.inc.hpp"

namespace antiphon::multicast {

extern const Seal::Function seal_sse41 = &hash;

}  // namespace antiphon::multicast
#endif
