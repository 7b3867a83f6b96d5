// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bench {

/// Prints what Antiphon adds to a call that it passes through: on one rank, where the library itself does next to
/// nothing.
int measure_overhead(int rank);

}  // namespace bench
