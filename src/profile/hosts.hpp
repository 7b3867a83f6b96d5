// SPDX-License-Identifier: Apache-2.0
// What hosts can do besides their link, by its rate: the table hosts.json. Estimates of clusters that nobody has
// measured take its ranges, and runs without a profile its typical values.
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/profile.hpp"

namespace antiphon {

/// The text of hosts.json, compiled in.
extern const char* const hosts_json;

/// On links of this rate hosts are the limit more often than ports.
constexpr double host_bound_bits_per_s = 5e9;

/// Returns the links within and between typical hosts on one switch: those of the table's row for the next faster link,
/// or for the fastest. docs/guides/clusters.md says what the values mean.
std::vector<LinkClass> usual_links(double link_bits_per_s, double port_bytes_per_s);

}  // namespace antiphon
