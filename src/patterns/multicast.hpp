// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "antiphon/problem.hpp"

namespace antiphon {

/// What multicast algorithms have in common. Over the multicast transport a sender's messages to a group match in the
/// order in which they are posted, whatever their tags. So every rank posts the messages of one sender in the same
/// order.

/// The group of all ranks.
int group_of_all(Schedule& s, const Problem& p);

/// The cut of multicasts, as the parameters segment_bytes and window say. The transport itself cuts messages into
/// packets, so that a message is best one piece.
Cut multicast_cut(const Problem& p);

/// `range` of rank `from`'s memory comes to all ranks of the group. `ready`: at the sender, the operation after which
/// the data are there; at the others, the one after which the memory is free. Returns the operation.
OpId multicast_from(Schedule& s, const Problem& p, int group, int from, const Range& range, Dep ready, Cut cut);

/// Block after block comes to all ranks: blocks[rank] is in place after `own`, and in the end all blocks are. At most
/// `senders` send at a time: a rank that is that many places behind begins when a block has come. Empty blocks are not
/// sent. `free`: per block, the operation of this rank that last used its memory; empty: there is none.
void multicast_allgather(Schedule& s, const Problem& p, std::span<const Range> blocks, Dep own, int senders, Cut cut,
                         std::span<const OpId> free = {});

}  // namespace antiphon
