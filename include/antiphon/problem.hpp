// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// The collectives that Antiphon schedules, named as MPI names them.
enum class Collective : std::uint8_t {
  barrier,
  bcast,
  scatter,
  scatterv,
  gather,
  gatherv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
};
inline constexpr int collective_count = 16;

std::string_view name(Collective collective);
std::optional<Collective> collective_from_name(std::string_view name);
bool has_root(Collective collective);
bool is_reduction(Collective collective);
/// Sizes differ from block to block (the vector collectives and reduce_scatter).
bool is_irregular(Collective collective);
/// A call has a block for each rank, and not one message that may be cut into blocks.
bool has_blocks(Collective collective);

/// A value of a builder's parameter, by name.
struct ParameterValue {
  std::string name;
  std::int64_t value = 0;
  bool operator==(const ParameterValue&) const = default;
};
using Parameters = std::vector<ParameterValue>;

/// One rank's view of one collective call, in bytes. Each space holds (m = `bytes`, P = `size`):
///
///   collective            input                           output
///   bcast                 –                               m; the root's data is in its output
///   scatter               root: P blocks of m             m
///   gather                m                               root: P blocks of m
///   allgather             m                               P blocks of m
///   alltoall              P blocks of m                   P blocks of m
///   reduce                m                               root: m
///   allreduce, scan       m                               m
///   exscan                m                               m (rank 0's is not touched)
///   reduce_scatter_block  P blocks of m                   m
///   reduce_scatter        all blocks, recv_bytes[i] each, one after the other;   recv_bytes[rank]
///   scatterv              root: block i at send_offsets[i], send_bytes[i] long   m
///   gatherv               m                               root: recv_offsets[i], recv_bytes[i]
///   allgatherv            m = recv_bytes[rank]            recv_offsets[i], recv_bytes[i]
///   alltoallv             send_offsets, send_bytes        recv_offsets, recv_bytes
///
/// With `in_place` the caller's input *is* part of its output (MPI_IN_PLACE): gather, allgather(v): input is the rank's
/// own block of the output; scatter: output is the root's own block of the input; reduce (root), allreduce, scan,
/// exscan: input and output are the same memory; reduce_scatter(_block): output is the first block-length of the input.
/// A builder stays correct when it reads what it needs of `input` before it writes the same place of `output`; a copy
/// between both is then free. (Builders get an alltoall(v) in place as a normal one.)
struct Problem {
  Collective collective = Collective::barrier;
  int rank = 0;
  int size = 1;
  int root = 0;
  std::int64_t bytes = 0;
  std::int64_t element_bytes = 1;  ///< reductions: cuts fall on multiples of this
  bool commutative = true;         ///< reductions: operands may change places
  bool in_place = false;
  std::vector<std::int64_t> send_bytes, send_offsets;  ///< packed bytes; the table says which ranks know them
  std::vector<std::int64_t> recv_bytes, recv_offsets;
  /// alltoallv, for algorithms that need all counts: what each rank sends to each, [from · size + to]; null: `bytes`.
  std::shared_ptr<const std::vector<std::int64_t>> all_counts;
  Parameters parameters;  ///< as resolved by resolve_parameters(): every parameter of the algorithm has a value
  /// The rank at each place of a chain, ring or tree, for build_schedule(); empty: places are ranks. Builders do not
  /// look at it.
  std::vector<int> order;
  /// How many ranks each node holds, which stand at consecutive places; empty: unknown, or they do not. For builders
  /// that serve several levels.
  std::vector<int> node_sizes;
  /// How many ranks each switch holds, which stand at consecutive places, whole nodes; empty: one switch, or unknown.
  std::vector<int> switch_sizes;

  [[nodiscard]] std::int64_t parameter(
      std::string_view parameter_name) const;  ///< throws InvalidArgument if there is none
  /// A piece size for a Cut: the parameter, rounded down to a multiple of the element (but at least one element). 0
  /// stays 0.
  [[nodiscard]] std::int64_t piece_parameter(std::string_view parameter_name) const;

  /// Tells whether the other problem, of a rank at the same place, is equal in everything but the parameters.
  [[nodiscard]] bool same_data_as(const Problem& other) const;

  /// Block i of the input or output: `bytes` long at i·bytes, or as the vectors say.
  [[nodiscard]] Range input_block(int i) const;
  [[nodiscard]] Range output_block(int i) const;
  /// What one rank, or place, sends to another in an alltoall(v) whose counts are all known.
  [[nodiscard]] std::int64_t pair_bytes(int from, int to) const {
    return all_counts ? (*all_counts)[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) +
                                      static_cast<std::size_t>(to)]
                      : bytes;
  }
  /// The whole of the space when it holds one block of m bytes.
  [[nodiscard]] Range whole_input() const { return {Space::input, 0, bytes}; }
  [[nodiscard]] Range whole_output() const { return {Space::output, 0, bytes}; }

  /// Rank arithmetic with the root at 0.
  [[nodiscard]] int relative(int r) const { return (r - root + size) % size; }
  [[nodiscard]] int absolute(int v) const { return (v + root) % size; }
};

/// Where memory of a rank is shared in place: its input begins so many bytes into its output, or its output into its
/// input.
struct Alias {
  bool output_in_input = false;
  std::int64_t offset_bytes = -1;  ///< −1: they lie apart
};
Alias alias_of(const Problem& p);

/// Problem::node_sizes where each node holds `per_node` consecutive ranks, the last one what is left.
std::vector<int> blocked_nodes(int ranks, int per_node);

}  // namespace antiphon
