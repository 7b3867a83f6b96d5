// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bench {

/// Prints what Antiphon adds to a call that it passes through, on one rank, where the library itself does almost
/// nothing.
int measure_overhead(int rank);

}  // namespace bench
