// SPDX-License-Identifier: Apache-2.0
// The store keeps what is known of nodes from one run to the next: profiles, and what runs have learned.
//
//     DIRECTORY/openmpi-5.16-nodes.1f2e3d4c5b6a7988/about.json                 which nodes, which library
//                                                  /profile.json               by `antiphon probe`, `tune`, `profile
//                                                  use` /learned.tcp.eth0.0.json    by runs, over this network
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.hpp"

namespace antiphon {

/// A set of nodes and an MPI library: what an entry of the store is about.
struct StoreKey {
  std::vector<std::string> nodes;  ///< their names up to the first dot, sorted, each once
  std::string mpi;                 ///< library and major version: "openmpi-5"

  /// Takes the names in any order, as often as they come; "openmpi" and "5.0.11", or any other text of a version.
  StoreKey(const std::vector<std::string>& names, const std::string& library, const std::string& version);

  /// Returns the entry's name, as "openmpi-5.16-nodes.1f2e3d4c5b6a7988".
  [[nodiscard]] std::string name() const;
};

/// The network that a run found, before anything was measured: what was learned holds for no other.
struct StoreNetwork {
  std::string transport, interface;
  std::int64_t link_bits_per_s = 0;  ///< told, or read from the system; 0: unknown

  /// Returns the name of the file with what was learned, as "learned.tcp.eth0.0.json".
  [[nodiscard]] std::string file_name() const;
};

/// What runs have learned of some nodes over one network.
struct Learned {
  std::int64_t link_bits_per_s = 0;        ///< measured; 0: never
  std::int64_t connection_bits_per_s = 0;  ///< measured with it; 0: one connection fills the link
  std::int64_t link_measured_s = 0;        ///< when, in seconds since 1970
  bool link_is_confirmed = false;          ///< the measurement before found the same
  Json decisions;                          ///< rules, in the form of a profile's "decisions"; null: none
  Json evidence;                           ///< whatever their maker wants back; null: none
  std::string path;                        ///< the file that this was read from
  std::int64_t saved_s = 0;                ///< when that file was written, in seconds since 1970

  /// Throws FormatError naming the field that is wrong.
  static Learned parse(std::string_view text);
  [[nodiscard]] Json to_json() const;
  /// Tells whether the rate may be used instead of another measurement.
  [[nodiscard]] bool knows_link(std::int64_t now_s) const;
  /// Takes over what a later run has learned: its rules come first, in place of those with the same conditions. A rate
  /// near the one before is confirmed.
  void merge(const Learned& later);
};

/// A file that was read.
struct Stored {
  std::string path, text;
  std::int64_t modified_s = 0;  ///< since 1970
};

class Store {
 public:
  /// The first directory is written, all are read, in this order. An empty path stands for no directory.
  explicit Store(std::vector<std::string> directories);

  /// Returns the directories that ANTIPHON_STORE names: parts between colons, where an empty part stands for the
  /// user's cache directory; none for "off". Unset, they are the cache directory and the site's. The others are the
  /// values of XDG_CACHE_HOME and HOME. A relative XDG_CACHE_HOME counts as unset. Where there is neither, there is no
  /// cache directory, and nothing is written.
  static std::vector<std::string> directories(const std::string& setting, const std::string& cache_home,
                                              const std::string& home);

  [[nodiscard]] bool is_off() const { return directories_.empty(); }

  /// Returns the profile of these nodes or, where none of the directories has one, of the fewest nodes that these are
  /// among. A file that cannot be read is passed over, with a line in `problems`.
  [[nodiscard]] std::optional<Stored> find_profile(const StoreKey& key, std::vector<std::string>& problems) const;
  /// Returns what runs on these nodes have learned. A broken file is passed over, with a line in `problems`.
  [[nodiscard]] std::optional<Learned> find_learned(const StoreKey& key, const StoreNetwork& network,
                                                    std::vector<std::string>& problems) const;

  /// These functions write a file in one step, into the first directory, which is made when it is missing. They return
  /// why that was not possible; an empty text if it was.
  [[nodiscard]] std::string save_profile(const StoreKey& key, std::string_view text) const;
  /// Merges with what is there.
  [[nodiscard]] std::string save_learned(const StoreKey& key, const StoreNetwork& network,
                                         const Learned& learned) const;

  /// Returns the path of an entry in the directory that is written; empty if none is.
  [[nodiscard]] std::string path_of(const StoreKey& key) const;

 private:
  std::vector<std::string> directories_;
  std::string written_;
};

/// Returns a file, or nothing if there is none; `why` says what is wrong with one that is there.
std::optional<Stored> read_bounded(const std::string& path, std::size_t most_bytes, std::string& why);
/// Puts a text in a file's place in one step. Returns why not; an empty text if it is there.
std::string replace_file(const std::string& path, std::string_view text);

}  // namespace antiphon
