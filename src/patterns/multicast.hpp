// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "antiphon/problem.hpp"

namespace antiphon {

/// What multicast algorithms have in common. Over the multicast transport a sender's messages to a group match in the
/// order in which they are posted, whatever their tags: so every rank posts a sender's in the same order.

/// The group of all ranks.
int everybody(Schedule& s, const Problem& p);

/// The cut of multicasts: the transport cuts into packets by itself, so that a message is one piece unless the
/// parameters (named segment_bytes and window) say otherwise.
Cut multicast_cut(const Problem& p);

/// `range` of rank `from`'s memory comes to all ranks of the group. `ready`: at the sender, after what; at the others,
/// after what the memory is free. Returns the operation.
OpId multicast_from(Schedule& s, const Problem& p, int group, int from, const Range& range, Dep ready, Cut cut);

/// Block after block comes to all ranks: blocks[rank] is in place after `own`, and in the end all blocks are. At most
/// `senders` send at a time: whoever is that many places behind begins when a block has come. Empty blocks are not
/// sent. `free`: per block, the operation of this rank that last used its memory (empty: none).
void multicast_allgather(Schedule& s, const Problem& p, std::span<const Range> blocks, Dep own, int senders, Cut cut,
                         std::span<const OpId> free = {});

}  // namespace antiphon
