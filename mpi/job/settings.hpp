// SPDX-License-Identifier: Apache-2.0
// This file holds every environment variable of the preload objects. Rank 0 of MPI_COMM_WORLD reads them and tells the
// others, so that ranks with different environments still make the same choices.
#pragma once

#include <cstdint>
#include <string>

#include "antiphon/store.hpp"

namespace antiphon::mpi {

struct Settings {
  /// ANTIPHON=off passes every call on to the library.
  bool enabled = true;
  /// ANTIPHON_VERBOSE selects the messages: 0 prints warnings only, 1 also prints the decisions at the start, 2 also
  /// prints each new choice.
  int verbose = 0;
  /// ANTIPHON_FORCE is "COLLECTIVE|*:CHOICE;…" and applies to all communicators and sizes.
  std::string force;
  /// ANTIPHON_SUMMARY says where the summary goes: "1" means standard error, another text is a file (.json: JSON), and
  /// empty means no summary.
  std::string summary;
  /// ANTIPHON_METRICS names the file that gets the same figures for monitoring systems; empty means none.
  std::string metrics;
  /// This is the part that choices need of the file that ANTIPHON_PROFILE names, or that the store has.
  std::string profile;
  /// This is that file; empty without one.
  std::string profile_path;
  /// "ANTIPHON_PROFILE", or where it was found.
  std::string profile_source;
  /// When it was written, in seconds since 1970.
  std::int64_t profile_modified_s = 0;
  /// The rate of the nodes' links that it has measured; 0: none.
  std::int64_t profile_link_bits_per_s = 0;
  /// ANTIPHON_STORE names the directories with what is known of nodes, or is "off".
  std::string store;
  /// ANTIPHON_LINK_BITS_PER_S sets this; the default is the rate of the interface that the library uses, as
  /// World::network says.
  std::int64_t link_bits_per_s = 0;
  /// ANTIPHON_LINK_BURST_BYTES: what a shaped link lets pass at once after a pause; 0 means nothing.
  std::int64_t link_burst_bytes = 0;
  /// ANTIPHON_MODEL=off leaves choices to the rules alone.
  bool model = true;
  /// ANTIPHON_CREDIT_BYTES, or else the profile, says how many bytes may be under way to one node; 0 means unknown.
  std::int64_t credit_bytes = 0;
  /// This is the text of the file that ANTIPHON_PLAN names: patterns with their schedules.
  std::string plan;
  /// ANTIPHON_TRACE names the file that records the run; empty means that the run is not recorded.
  std::string trace;
  /// ANTIPHON_TRACE_BYTES is the most memory that a rank uses for the trace.
  std::int64_t trace_bytes = 64 << 20;
  /// ANTIPHON_COMPRESS is off, on, force (for tests: every message, also within nodes), or auto: on if codecs, measured
  /// at the start, are fast enough for the links. Where a profile has measured both, auto is resolved to on.
  std::string compress = "off";
  /// ANTIPHON_LINK_BITS_PER_S sets this; the default is the profile's value, or else that of
  /// link_bits_per_s.
  std::int64_t compress_link_bits_per_s = 0;
  /// The profile gives this number; 0 means unknown, and then a node has at least one core for each rank.
  int cores_per_node = 0;
  /// This many nodes share these cores, as in an emulated cluster.
  int nodes_sharing = 1;
  /// ANTIPHON_COMPRESS_MIN_BYTES: shorter messages are sent uncompressed; the value is at least 64.
  std::int64_t compress_threshold_bytes = 1024;
  /// ANTIPHON_COMPRESS_MEMORY_BYTES limits a rank's memory for earlier messages, from which later ones are predicted.
  std::int64_t compress_memory_bytes = 512 << 20;
  /// ANTIPHON_CODEC is auto (what suits each channel), or the one codec that is used: spatial, lz4, zstd or dfcm.
  std::string codec = "auto";
  /// ANTIPHON_COMPRESS_DAMAGE, for tests, flips a bit of every so many-th frame that a rank sends; 0: of none.
  std::int64_t compress_damage = 0;
  /// ANTIPHON_REORDER=1 lets topology constructors give ranks a new order.
  bool reorder = false;
  /// This is the part of the profile that the model and reordering need: link classes, topology and what computing
  /// costs.
  std::string machine;
  /// ANTIPHON_NODES assumes names for the ranks' nodes, "a*4,b*4", so that one machine can imitate another.
  std::string nodes;
  /// This is the text of the file that ANTIPHON_PLACEMENT names: the planned place of each rank.
  std::string placement;
  /// ANTIPHON_PLACEMENT_STRICT=1 ends the job if a rank is elsewhere.
  bool placement_strict = false;
  /// ANTIPHON_MULTICAST is auto (multicast where a profile or a forced choice says so) or off.
  std::string multicast = "auto";
  /// ANTIPHON_MULTICAST_INTERFACE is "eth1" or "10.0.0.0/16"; empty selects the interface towards the other nodes.
  std::string multicast_interface;
  /// ANTIPHON_MULTICAST_GROUPS is the largest number of groups at a time on a node's card (paper 1, §4.1).
  int multicast_groups = 20;
  /// ANTIPHON_MULTICAST_TIMEOUT_MS: a member that does not answer for this long is lost.
  std::int64_t multicast_timeout_ms = 6000;
  /// ANTIPHON_MULTICAST_STRATEGY is nack, or ack (paper 1's protocol, for comparison).
  std::string multicast_strategy = "nack";
  /// ANTIPHON_MULTICAST_KEEPER=0 disables the thread that advances multicasts while the program computes.
  bool multicast_keeper = true;
  /// ANTIPHON_MULTICAST_LOSS, for tests, throws away this share of the packets on arrival.
  double multicast_loss = 0;
  /// ANTIPHON_MULTICAST_SEED is the seed of that loss.
  std::uint64_t multicast_seed = 1;
  /// ANTIPHON_FINALIZE_SECONDS: a run whose ranks stay in MPI_Finalize for longer is ended; 0 means never, and -1, the
  /// default, depends on the library.
  std::int64_t finalize_s = -1;
  /// ANTIPHON_GPU is auto (drivers are asked about buffers where a process has one or its node a GPU), on (everywhere)
  /// or off.
  std::string gpu = "auto";
  /// These are the variables themselves, for the comparison with the other ranks'.
  std::string environment;
  /// ANTIPHON_ADAPT says whether ways take turns in the run: off, run, or keep (what is learned is kept for the next
  /// run); ",reductions" added: also where that changes the order of floating-point operations.
  std::string adapt = "keep";
  /// ANTIPHON_PROGRESS says what advances operations while the program computes: nothing but its calls, or a thread.
  std::string progress = "calls";
  /// ANTIPHON_SHARED_MEMORY says how messages of schedules move within a node: through shared memory, long ones with a
  /// single copy (on) or not (copy), or as the library's messages (off).
  std::string shared_memory = "on";
  /// ANTIPHON_ORDER_MESSAGES=off sends every message of the program when the program says so.
  bool orders_messages = true;
  /// ANTIPHON_TOPOLOGY says which switches nodes are on: what a profile or Slurm knows (on), nothing (off), or
  /// "switch=node01,node02;other=node03".
  std::string topology = "on";
  /// Slurm gives each process its node's place in the tree of switches.
  bool slurm_topology = false;
  /// ANTIPHON_YIELD=0 polls without giving the core away.
  bool yield = true;

  [[nodiscard]] bool adapts() const { return adapt != "off"; }
  [[nodiscard]] bool adapts_reductions() const { return adapt.ends_with("reductions"); }
  [[nodiscard]] bool keeps_learned() const { return adapt.starts_with("keep") || adapt == "reductions"; }
};

/// Reads the same environment as if ANTIPHON_PROFILE named this file of the store.
Settings read_settings_with(const Stored& profile);

/// Reads this process's environment. A setting that does not exist or means nothing disables all, with a warning.
Settings read_settings();

std::string serialize(const Settings& settings);
Settings deserialize(const std::string& text);

}  // namespace antiphon::mpi
