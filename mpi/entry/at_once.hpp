// SPDX-License-Identifier: Apache-2.0
// How an alltoall's schedule becomes one that holds nothing back, for a rank whose program leaves the call alone.
#pragma once

#include <cstdint>
#include <optional>

#include "antiphon/problem.hpp"
#include "antiphon/select.hpp"

namespace antiphon::mpi {

/// Returns how many bytes such a choice would bring into a node's port at once; nothing if it holds back nothing, or
/// cannot do without.
std::optional<std::int64_t> port_bytes_at_once(const Choice& choice, const Problem& problem, int max_ranks_per_node);
/// Returns the choice such that it holds nothing back. It sends the same messages, so ranks may differ.
Choice at_once(const Choice& choice);

}  // namespace antiphon::mpi
