// SPDX-License-Identifier: Apache-2.0
// What is kept from one run on these nodes to the next: a profile that is found by itself, and what runs have learned.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "job/find_network.hpp"
#include "job/settings.hpp"
#include "network/agree.hpp"

namespace antiphon::mpi {

/// What the store has for this run; the same on all ranks.
struct Recalled {
  std::string passed_over;                 ///< the profile that was found and is not used, and why; empty: none
  std::string learned_path;                ///< the file with what runs have learned; empty: there is none
  std::string learned_decisions;           ///< rules that runs have learned, in the form of a profile's "decisions"
  std::string learned_evidence;            ///< what save_learned() was given beside them
  std::int64_t learned_rules = 0;          ///< how many
  std::int64_t link_bits_per_s = 0;        ///< as a run measured it; 0: never, or too long ago
  std::int64_t connection_bits_per_s = 0;  ///< measured with it; 0: one connection fills the link
  std::int64_t link_measured_s = 0;        ///< when, in seconds since 1970
};
extern Recalled recalled;

/// Tells all ranks what rank 0 has `seen`, and what it finds in the store: the profile, unless the user names one or
/// messages travel by another transport than TCP, is taken over into the settings, with learned rules before its own
/// where they are newer. Returns the network. The call is collective over MPI_COMM_WORLD.
network::Network recall(Settings& settings, const Seen& seen);

/// Notes what this run has learned, for the next one on these nodes: rules in the form of a profile's "decisions", and
/// JSON of any form beside them. Rules replace those with the same conditions. Only what rank 0 says counts.
void save_learned(std::string_view rules_json, std::string_view evidence_json = {});
/// The same for the rate of the links as it was measured.
void save_measured_link(std::int64_t bits_per_s, std::int64_t connection_bits_per_s);

/// Writes what was noted, after MPI_Finalize. Where that is not possible nothing happens but, with ANTIPHON_VERBOSE=1,
/// a line.
void write_learned();

}  // namespace antiphon::mpi
