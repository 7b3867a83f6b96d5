// SPDX-License-Identifier: Apache-2.0
// A call on a cluster, and what the tables and the model answer to it.
#pragma once

#include <cstdint>
#include <optional>

#include "antiphon/library_algorithms.hpp"
#include "antiphon/model_choice.hpp"
#include "antiphon/select.hpp"

namespace antiphon {

struct Asked {
  Question question;
  Cluster cluster;
  [[nodiscard]] Choice of_table() const { return Rules::defaults().choose(question); }
  [[nodiscard]] Choice of_ours() const { return Rules::defaults().choose_own(question); }
};

inline Asked ask_of(Collective collective, std::int64_t bytes, int nodes, int ranks_per_node, double bits_per_s) {
  const Profile profile = Profile::guess(nodes, ranks_per_node, bits_per_s);
  const int ranks = nodes * ranks_per_node;
  Question q{.collective = collective,
             .ranks = ranks,
             .nodes = nodes,
             .max_ranks_per_node = ranks_per_node,
             .bytes = bytes,
             .element_bytes = 8,
             .link_bits_per_s = static_cast<std::int64_t>(bits_per_s),
             .mpi = "openmpi"};
  return {q, Cluster::blocked(profile, ranks, ranks_per_node)};
}

inline const LibraryAlgorithms* open_mpi() { return LibraryAlgorithms::of("openmpi Open MPI v5.0.11"); }

inline std::optional<ModelAnswer> answer_to(const Asked& a) {
  return ask_model(a.question, a.cluster, a.of_table(), a.of_ours(), open_mpi());
}

}  // namespace antiphon
