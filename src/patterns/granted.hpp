// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon {

/// How receivers grant: pieces and how many of them one sender may have, how many senders at a time, and what needs no
/// grant.
struct Granting {
  Cut cut;
  std::int64_t senders = 2;
  std::int64_t short_bytes = 0;
};

/// An alltoallv in which the receiver rules: it walks its long blocks in the order of rotated phases, spread over
/// `senders` lanes, and grants each piece by a message of one byte, so that never more than senders·window pieces are
/// under way to it, whoever has how much for whom. A grant for the next sender leaves when the last pieces of the one
/// before are still under way. Short blocks are sent at once, in the lock-step of phases.
///
/// No deadlock: a lane's grants wait for receives earlier in the same lane alone, a send waits for its grants alone,
/// and the receive of a granted piece for the grants before it. Short blocks: see PhasedExchange.
Schedule granted_exchange(const Problem& p, const Granting& granting);

}  // namespace antiphon
