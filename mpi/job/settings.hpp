// SPDX-License-Identifier: Apache-2.0
// Every environment variable of the preload objects. Rank 0 of MPI_COMM_WORLD reads them and tells the others, so that
// no choice can differ between ranks because their environments do.
#pragma once

#include <cstdint>
#include <string>

namespace antiphon::mpi {

struct Settings {
  bool enabled = true;  ///< ANTIPHON=off: every call is passed on
  int verbose = 0;      ///< ANTIPHON_VERBOSE: 0 silent but for warnings, 1 what was decided at start, 2 each new choice
  std::string force;    ///< ANTIPHON_FORCE: "COLLECTIVE|*:CHOICE;…", for all communicators and sizes
  std::string summary;  ///< ANTIPHON_SUMMARY: "" none, "1" standard error, else a file (.json: JSON)
  std::string profile;  ///< the text of the file that ANTIPHON_PROFILE names
  std::int64_t link_bits_per_s = 0;  ///< ANTIPHON_LINK_BITS_PER_S, else the speed the system reports for rank 0's link
  std::int64_t credit_bytes =
      0;              ///< ANTIPHON_CREDIT_BYTES, else the profile's: what may be under way to one node; 0: unknown
  std::string plan;   ///< the text of the file that ANTIPHON_PLAN names: patterns with their schedules
  std::string trace;  ///< ANTIPHON_TRACE: the file that the run is recorded in; empty: not recorded
  std::int64_t trace_bytes = 64 << 20;  ///< ANTIPHON_TRACE_BYTES: memory of a rank for it, at most
  std::string compress =
      "off";  ///< ANTIPHON_COMPRESS, auto decided: off, on, force (for tests: every message, also within nodes)
  std::int64_t compress_link_bits_per_s = 0;  ///< ANTIPHON_LINK_BITS_PER_S, else the profile's, else the system's
  int cores_per_node = 0;                     ///< the profile's; 0: unknown, at least one for each rank
  int nodes_sharing = 1;                      ///< how many nodes share these cores, as in an emulated cluster
  std::int64_t compress_threshold_bytes =
      1024;  ///< ANTIPHON_COMPRESS_MIN_BYTES: shorter messages travel as they are; at least 64
  std::int64_t compress_memory_bytes =
      512 << 20;          ///< ANTIPHON_COMPRESS_MEMORY_BYTES: of a rank, for earlier messages to predict from
  bool reorder = false;   ///< ANTIPHON_REORDER=1: topology constructors may order ranks anew
  std::string machine;    ///< what that needs of the profile: link classes and topology
  std::string nodes;      ///< ANTIPHON_NODES: names taken for the ranks' nodes, "a*4,b*4", to try a machine on another
  std::string placement;  ///< the text of the file that ANTIPHON_PLACEMENT names: where each rank was to be
  bool placement_strict = false;    ///< ANTIPHON_PLACEMENT_STRICT=1: end the job where a rank is elsewhere
  std::string multicast = "auto";   ///< ANTIPHON_MULTICAST: auto (where a profile or a forced choice says so), off
  std::string multicast_interface;  ///< ANTIPHON_MULTICAST_INTERFACE: "eth1" or "10.0.0.0/16"; empty: the one towards
                                    ///< the other nodes
  int multicast_groups =
      20;  ///< ANTIPHON_MULTICAST_GROUPS: so many at a time on a node's card, at most (paper 1, §4.1)
  std::int64_t multicast_timeout_ms = 6000;  ///< ANTIPHON_MULTICAST_TIMEOUT_MS: who answers nothing for so long is lost
  std::string multicast_strategy =
      "nack";                    ///< ANTIPHON_MULTICAST_STRATEGY: nack, or ack (paper 1's protocol, for comparison)
  bool multicast_keeper = true;  ///< ANTIPHON_MULTICAST_KEEPER=0: no thread goes on while the program is elsewhere
  double multicast_loss =
      0;  ///< ANTIPHON_MULTICAST_LOSS, for tests: this share of the packets is thrown away on arrival
  std::uint64_t multicast_seed = 1;  ///< ANTIPHON_MULTICAST_SEED: of that
  bool yield = true;                 ///< ANTIPHON_YIELD=0: poll without giving the core away
};

/// From this process's environment. Never fails: what cannot be used is warned about and ignored.
Settings read_settings();

std::string serialize(const Settings& settings);
Settings deserialize(const std::string& text);

/// One line on standard error, "antiphon: …".
void warn(const std::string& message);

}  // namespace antiphon::mpi
