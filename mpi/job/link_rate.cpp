// SPDX-License-Identifier: Apache-2.0
#include "job/link_rate.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "job/measure_link.hpp"
#include "job/profile_store.hpp"

namespace antiphon::mpi {

namespace {

/// A virtual machine's port is as fast as it says if this share of it was measured.
constexpr double confirmed = 0.8;

std::string day_of(std::int64_t when_s) {
  const auto when = static_cast<std::time_t>(when_s);
  std::tm parts{};
  std::array<char, 16> text{};
  gmtime_r(&when, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

/// Measures, and keeps for the next run what was found.
void take_measured(network::Network& network, const std::vector<int>& node_of_rank) {
  // Nodes on one machine reach each other through its memory.
  const MeasuredLink found = measure_link(network.machine_of_rank.empty() ? node_of_rank : network.machine_of_rank);
  network.measuring = {found.pairs, found.rounds, found.received_bytes, found.messages, found.seconds};
  if (found.bits_per_s == 0) {
    network.rate_source += "; a measurement gave no rate that a link can have";
    return;
  }
  const auto claimed = static_cast<double>(network.bits_per_s);
  const bool confirms = claimed > 0 && static_cast<double>(found.bits_per_s) >= confirmed * claimed;
  network.set_rates(
      confirms ? network.bits_per_s : found.bits_per_s, found.connection_bits_per_s,
      confirms ? network.rate_source + ", and measured at the start" : "measured at the start; " + network.rate_source);
  save_measured_link(network.bits_per_s, network.connection_bits_per_s);
}

}  // namespace

void settle_link_rate(network::Network& network, const Settings& settings, const std::vector<int>& node_of_rank) {
  const bool one_node = std::all_of(node_of_rank.begin(), node_of_rank.end(), [](int node) { return node == 0; });
  if (settings.link_bits_per_s != 0) return network.set_rates(settings.link_bits_per_s, 0, "ANTIPHON_LINK_BITS_PER_S");
  if (settings.profile_link_bits_per_s != 0)
    return network.set_rates(settings.profile_link_bits_per_s, 0, "the profile " + settings.profile_path);
  // Where messages do not surely travel by TCP over Ethernet, its rate says nothing.
  if (one_node || network.transport != "tcp" || (network.bits_per_s != 0 && !network.rate_is_claimed)) return;
  if (recalled.link_bits_per_s != 0) {
    return network.set_rates(recalled.link_bits_per_s, recalled.connection_bits_per_s,
                             "measured on " + day_of(recalled.link_measured_s) + ", " + recalled.learned_path);
  }
  take_measured(network, node_of_rank);
}

}  // namespace antiphon::mpi
