// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/schedule.hpp"

namespace antiphon {

/// Returns the same schedule with its messages of at least `least_bytes` encoded. A rank encodes its own data once,
/// piece by piece, just before it leaves; data that it only passes on travels as it came; data that it receives is
/// decoded to its place. So every algorithm has a compressed form, reductions too (they decode, combine, and encode the
/// result).
///
/// Both sides of a message decide alike, since both know its length and its cut. Shorter messages, and
/// tokens, stay as they are. `in_place`: input and output may be the same memory (Problem::in_place).
Schedule encoded(const Schedule& plain, std::int64_t least_bytes, bool in_place);

}  // namespace antiphon
