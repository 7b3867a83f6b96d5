// SPDX-License-Identifier: Apache-2.0
#include "antiphon/problem.hpp"

#include <algorithm>
#include <array>

#include "antiphon/error.hpp"

namespace antiphon {

namespace {

constexpr std::array<std::string_view, collective_count> names{
    "barrier",    "bcast",    "scatter",   "scatterv", "gather",    "gatherv",        "allgather",
    "allgatherv", "alltoall", "alltoallv", "reduce",   "allreduce", "reduce_scatter", "reduce_scatter_block",
    "scan",       "exscan"};

Range block(Space space, std::int64_t bytes, const std::vector<std::int64_t>& sizes,
            const std::vector<std::int64_t>& offsets, int i) {
  const auto index = static_cast<std::size_t>(i);
  if (sizes.empty()) return {space, i * bytes, bytes};
  return {space, offsets.at(index), sizes.at(index)};
}

}  // namespace

std::string_view name(Collective collective) { return names.at(static_cast<std::size_t>(collective)); }

std::optional<Collective> collective_from_name(std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Collective>(found - names.begin());
}

bool has_root(Collective c) {
  return c == Collective::bcast || c == Collective::scatter || c == Collective::scatterv || c == Collective::gather ||
         c == Collective::gatherv || c == Collective::reduce;
}

bool is_reduction(Collective c) { return c >= Collective::reduce; }

bool is_irregular(Collective c) {
  return c == Collective::scatterv || c == Collective::gatherv || c == Collective::allgatherv ||
         c == Collective::alltoallv || c == Collective::reduce_scatter;
}

bool has_blocks(Collective c) {
  return c != Collective::bcast && c != Collective::reduce && c != Collective::allreduce && c != Collective::scan &&
         c != Collective::exscan;
}

std::int64_t Problem::parameter(std::string_view parameter_name) const {
  for (const ParameterValue& p : parameters) {
    if (p.name == parameter_name) return p.value;
  }
  throw InvalidArgument("no parameter named " + std::string(parameter_name));
}

std::int64_t Problem::piece_parameter(std::string_view parameter_name) const {
  const std::int64_t wanted = parameter(parameter_name);
  if (wanted <= 0) return 0;
  return std::max(wanted / element_bytes, std::int64_t{1}) * element_bytes;
}

bool Problem::same_data_as(const Problem& other) const {
  const bool same_counts =
      all_counts == other.all_counts || (all_counts && other.all_counts && *all_counts == *other.all_counts);
  if (!same_counts) return false;
  return collective == other.collective && bytes == other.bytes && root == other.root && in_place == other.in_place &&
         element_bytes == other.element_bytes && commutative == other.commutative && send_bytes == other.send_bytes &&
         send_offsets == other.send_offsets && recv_bytes == other.recv_bytes && recv_offsets == other.recv_offsets;
}

Range Problem::input_block(int i) const {
  // reduce_scatter describes its input by the receive counts, one block after the other.
  if (collective == Collective::reduce_scatter) return block(Space::input, bytes, recv_bytes, recv_offsets, i);
  return block(Space::input, bytes, send_bytes, send_offsets, i);
}

Range Problem::output_block(int i) const { return block(Space::output, bytes, recv_bytes, recv_offsets, i); }

Alias alias_of(const Problem& p) {
  if (!p.in_place) return {};
  const bool root = p.rank == p.root;
  switch (p.collective) {
    case Collective::gather:
    case Collective::gatherv: return root ? Alias{false, p.output_block(p.rank).offset_bytes} : Alias{};
    case Collective::allgather:
    case Collective::allgatherv: return {false, p.output_block(p.rank).offset_bytes};
    case Collective::scatter:
    case Collective::scatterv: return root ? Alias{true, p.input_block(p.rank).offset_bytes} : Alias{};
    case Collective::reduce: return root ? Alias{false, 0} : Alias{};
    case Collective::allreduce:
    case Collective::scan:
    case Collective::exscan: return {false, 0};
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: return {true, 0};
    default: return {};
  }
}

std::vector<int> blocked_nodes(int ranks, int per_node) {
  std::vector<int> sizes(static_cast<std::size_t>(ranks / per_node), per_node);
  if (ranks % per_node > 0) sizes.push_back(ranks % per_node);
  return sizes;
}

}  // namespace antiphon
