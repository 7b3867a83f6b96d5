// SPDX-License-Identifier: Apache-2.0
// Every environment variable of the preload objects. Rank 0 of MPI_COMM_WORLD reads them and tells the others, so that
// no choice can differ between ranks because their environments do.
#pragma once

#include <cstdint>
#include <string>

namespace antiphon::mpi {

struct Settings {
  /// ANTIPHON=off passes on every call.
  bool enabled = true;
  /// ANTIPHON_VERBOSE: 0 prints warnings only, 1 also what was decided at the start, 2 also each new choice.
  int verbose = 0;
  /// ANTIPHON_FORCE: "COLLECTIVE|*:CHOICE;…", for all communicators and sizes.
  std::string force;
  /// ANTIPHON_SUMMARY: "1" means standard error, other texts are a file (.json: JSON); empty: no summary.
  std::string summary;
  /// The text of the file that ANTIPHON_PROFILE names.
  std::string profile;
  /// ANTIPHON_LINK_BITS_PER_S, else the speed that the system reports for rank 0's link.
  std::int64_t link_bits_per_s = 0;
  /// ANTIPHON_CREDIT_BYTES, else the profile's: how many bytes may be under way to one node; 0: unknown.
  std::int64_t credit_bytes = 0;
  /// The text of the file that ANTIPHON_PLAN names: patterns with their schedules.
  std::string plan;
  /// ANTIPHON_TRACE: the file that the run is recorded in; empty: not recorded.
  std::string trace;
  /// ANTIPHON_TRACE_BYTES: the most memory that a rank uses for the trace.
  std::int64_t trace_bytes = 64 << 20;
  /// ANTIPHON_COMPRESS with auto decided: off, on, or force (for tests: every message, also within nodes).
  std::string compress = "off";
  /// ANTIPHON_LINK_BITS_PER_S, else the profile's, else the system's.
  std::int64_t compress_link_bits_per_s = 0;
  /// The profile's; 0: unknown, then at least one for each rank.
  int cores_per_node = 0;
  /// How many nodes share these cores, as in an emulated cluster.
  int nodes_sharing = 1;
  /// ANTIPHON_COMPRESS_MIN_BYTES: shorter messages travel as they are; at least 64.
  std::int64_t compress_threshold_bytes = 1024;
  /// ANTIPHON_COMPRESS_MEMORY_BYTES: a rank's memory for earlier messages, from which later ones are predicted.
  std::int64_t compress_memory_bytes = 512 << 20;
  /// ANTIPHON_REORDER=1: topology constructors may give ranks a new order.
  bool reorder = false;
  /// The part of the profile that reordering needs: link classes and topology.
  std::string machine;
  /// ANTIPHON_NODES: names assumed for the ranks' nodes, "a*4,b*4", to try a machine on another one.
  std::string nodes;
  /// The text of the file that ANTIPHON_PLACEMENT names: where each rank was to be.
  std::string placement;
  /// ANTIPHON_PLACEMENT_STRICT=1 ends the job where a rank is elsewhere.
  bool placement_strict = false;
  /// ANTIPHON_MULTICAST: auto (where a profile or a forced choice says so) or off.
  std::string multicast = "auto";
  /// ANTIPHON_MULTICAST_INTERFACE: "eth1" or "10.0.0.0/16"; empty: the interface towards the other nodes.
  std::string multicast_interface;
  /// ANTIPHON_MULTICAST_GROUPS: the most groups at a time on a node's card (paper 1, §4.1).
  int multicast_groups = 20;
  /// ANTIPHON_MULTICAST_TIMEOUT_MS: a member that answers nothing for this long is lost.
  std::int64_t multicast_timeout_ms = 6000;
  /// ANTIPHON_MULTICAST_STRATEGY: nack, or ack (paper 1's protocol, for comparison).
  std::string multicast_strategy = "nack";
  /// ANTIPHON_MULTICAST_KEEPER=0: no thread goes on with multicasts while the program computes.
  bool multicast_keeper = true;
  /// ANTIPHON_MULTICAST_LOSS, for tests: this share of the packets is thrown away on arrival.
  double multicast_loss = 0;
  /// ANTIPHON_MULTICAST_SEED: the seed of that loss.
  std::uint64_t multicast_seed = 1;
  /// ANTIPHON_YIELD=0: poll without giving the core away.
  bool yield = true;
};

/// Reads this process's environment. Never fails: what cannot be used is ignored with a warning.
Settings read_settings();

std::string serialize(const Settings& settings);
Settings deserialize(const std::string& text);

}  // namespace antiphon::mpi
