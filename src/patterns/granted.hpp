// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon {

/// How receivers grant: the pieces and how many of them one sender may have, how many senders at a time, and the
/// longest block that needs no grant.
struct Granting {
  Cut cut;
  std::int64_t senders = 2;
  std::int64_t short_bytes = 0;
};

/// An alltoallv that receivers control: each walks its long blocks in the order of rotated phases, spread over
/// `senders` lanes, and grants each piece by a message of one byte. So at most senders·window pieces are under way to
/// it, whatever the sizes. A grant for the next sender leaves while the last pieces of the one before are still under
/// way. Short blocks are sent at once, in the lock-step of phases.
///
/// No deadlock: a lane's grants wait only for earlier receives in the same lane, a send only for its grants, and the
/// receive of a granted piece for the grants before it. Short blocks: see PhasedExchange.
Schedule granted_exchange(const Problem& p, const Granting& granting);

}  // namespace antiphon
