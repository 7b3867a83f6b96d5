// SPDX-License-Identifier: Apache-2.0
// The switches that a job's nodes are on, from what is known by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "antiphon/profile.hpp"

namespace antiphon::network {

/// Returns these nodes with the switches that they have in a measured topology, by name; domains do not matter. Nothing
/// if it lacks one of them or they are all on one switch.
std::optional<Topology> topology_of_names(const Topology& measured, const std::vector<std::string>& nodes);

/// Returns the same from each node's address in the tree, as Slurm writes it: "spine.leaf.node". Rates are unknown: 0.
std::optional<Topology> topology_of_addresses(const std::vector<std::string>& addresses);

/// Returns each node's address from "leaf=node01,node02;spine.leaf=node03" (ANTIPHON_TOPOLOGY); empty if the text is
/// not of this form or lacks a node.
std::vector<std::string> addresses_of_text(std::string_view text, const std::vector<std::string>& nodes);

}  // namespace antiphon::network
