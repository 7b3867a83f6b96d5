// SPDX-License-Identifier: Apache-2.0
#include "entry/workspace.hpp"

#include <cstring>

namespace antiphon::mpi {

void Staging::call_over() {
  // Such a block takes many times longer to send than new pages take to come.
  constexpr std::int64_t kept_bytes = std::int64_t{16} << 20;
  for (Arena* const arena : {&input, &output, &scratch}) arena->keep_at_most(kept_bytes);
}

Workspace::Workspace(const Description& d, const Problem& problem, Staging& staging)
    : d_(d), problem_(problem), staging_(staging) {}

int Workspace::prepare(std::int64_t scratch_bytes) {
  if (d_.collective == Collective::barrier) return MPI_SUCCESS;
  const Side& data = d_.input.used ? d_.input : d_.output;
  binding_.element = data.info.element;
  binding_.stream = static_cast<std::int64_t>(d_.collective);
  if (is_reduction(d_.collective)) return prepare_reduction(scratch_bytes);
  binding_.base[static_cast<std::size_t>(Space::scratch)] =
      scratch_bytes > 0 ? staging_.scratch.get(scratch_bytes) : nullptr;
  if (const int rc = place_output(); rc != MPI_SUCCESS) return rc;
  return place_input();
}

/// Reductions work on the elements in place, because an operation may look at the whole layout of its type.
int Workspace::prepare_reduction(std::int64_t scratch_bytes) {
  const TypeInfo& info = d_.input.info;
  binding_.type = d_.call->sendtype;
  binding_.size_bytes = info.size_bytes;
  binding_.extent_bytes = info.extent_bytes;
  binding_.op = d_.call->op;
  binding_.base[static_cast<std::size_t>(Space::input)] = d_.input.buffer;
  binding_.base[static_cast<std::size_t>(Space::output)] = d_.output.used ? d_.output.buffer : nullptr;
  if (scratch_bytes > 0) {
    const std::int64_t elements = scratch_bytes / info.size_bytes + 1;
    binding_.base[static_cast<std::size_t>(Space::scratch)] =
        staging_.scratch.get(elements * info.extent_bytes) - info.true_lb_bytes;
  }
  return MPI_SUCCESS;
}

int Workspace::pack_block(const Side& side, int block, std::byte* to) const {
  const std::int64_t count = side.block_count(block);
  if (count == 0) return MPI_SUCCESS;
  const std::byte* from = side.buffer + side.offset_bytes(block);
  const TypeInfo& info = side.block_info(block);
  if (info.contiguous) {
    std::memcpy(to, from, static_cast<std::size_t>(count * info.size_bytes));
    return MPI_SUCCESS;
  }
  return pack(from, count, side.block_type(block), info, to);
}

int Workspace::place_output() {
  std::byte*& base = binding_.base[static_cast<std::size_t>(Space::output)];
  const Side& side = d_.output;
  if (!side.used) return MPI_SUCCESS;
  if (side.info.contiguous) {
    base = side.buffer;
    return MPI_SUCCESS;
  }
  base = staging_.output.get(side.total_bytes());
  unpack_ = d_.collective != Collective::bcast || problem_.rank != problem_.root;
  if (!unpack_) return pack_block(side, 0, base);
  if (problem_.in_place)
    return pack_block(side, problem_.rank, base + problem_.output_block(problem_.rank).offset_bytes);
  return MPI_SUCCESS;
}

int Workspace::place_input() {
  std::byte*& base = binding_.base[static_cast<std::size_t>(Space::input)];
  std::byte*& output = binding_.base[static_cast<std::size_t>(Space::output)];
  const bool scatters = d_.collective == Collective::scatter || d_.collective == Collective::scatterv;
  const Side& side = d_.is_exchange() && d_.in_place ? d_.output : d_.input;
  if (d_.in_place && !d_.is_exchange() && !scatters) {
    base = output + problem_.output_block(problem_.rank).offset_bytes;
    return MPI_SUCCESS;
  }
  if (side.used) {
    if (side.info.contiguous && !(d_.is_exchange() && d_.in_place)) {
      base = side.buffer;
    } else {
      base = staging_.input.get(side.total_bytes());
      for (int i = 0; i < side.blocks; ++i) {
        const std::int64_t offset = side.blocks == 1 ? 0 : problem_.input_block(i).offset_bytes;
        if (const int rc = pack_block(side, i, base + offset); rc != MPI_SUCCESS) return rc;
      }
    }
  }
  if (d_.in_place && scatters) output = base + problem_.input_block(problem_.rank).offset_bytes;
  return MPI_SUCCESS;
}

int Workspace::finish() {
  if (!unpack_) return MPI_SUCCESS;
  const Side& side = d_.output;
  const std::byte* base = binding_.base[static_cast<std::size_t>(Space::output)];
  for (int i = 0; i < side.blocks; ++i) {
    const std::int64_t offset = side.blocks == 1 ? 0 : problem_.output_block(i).offset_bytes;
    const std::int64_t count = side.block_count(i);
    // The program's own block is already in its place.
    if (count == 0 || (problem_.in_place && i == problem_.rank)) continue;
    const int rc =
        unpack(base + offset, side.buffer + side.offset_bytes(i), count, side.block_type(i), side.block_info(i));
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

}  // namespace antiphon::mpi
