// SPDX-License-Identifier: Apache-2.0
#include "call/describe.hpp"

#include <cstring>

#include "call/alias.hpp"

#include "call/reducible.hpp"

namespace antiphon::mpi {

namespace {

bool set_side(Side& side, const void* buffer, MPI_Datatype type, std::int64_t count, Integers counts, Integers displs,
              std::int64_t blocks) {
  side = {};
  if (!inspect(type, side.info)) return false;
  side.buffer = static_cast<std::byte*>(const_cast<void*>(buffer));
  side.type = type;
  side.count = count;
  side.counts = counts;
  side.displs = displs;
  side.blocks = blocks;
  side.used = true;
  if (!counts.present()) return count >= 0;
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (counts[i] < 0) return false;
  }
  return true;
}

/// A side of alltoallw.
bool set_typed_side(Side& side, const void* buffer, const MPI_Datatype* types, Integers counts, Integers displs,
                    std::int64_t blocks) {
  side = {};
  side.buffer = static_cast<std::byte*>(const_cast<void*>(buffer));
  side.types = types;
  side.counts = counts;
  side.displs = displs;
  side.blocks = blocks;
  side.used = true;
  side.info.contiguous = true;
  side.infos.resize(static_cast<std::size_t>(blocks));
  for (std::int64_t i = 0; i < blocks; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (counts[i] < 0) return false;
    if (counts[i] == 0) continue;
    if (i > 0 && types[i] == types[i - 1] && counts[i - 1] > 0) side.infos[at] = side.infos[at - 1];
    else if (!inspect(types[i], side.infos[at])) return false;
    side.info.contiguous &= side.infos[at].contiguous;
  }
  return true;
}

std::int64_t total_bytes(const Side& side) {
  if (side.types != nullptr) {
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < side.blocks; ++i) bytes += side.block_bytes(i);
    return bytes;
  }
  std::int64_t elements = 0;
  for (std::int64_t i = 0; side.counts.present() && i < side.blocks; ++i) elements += side.counts[i];
  if (!side.counts.present()) elements = side.count * side.blocks;
  return elements * side.info.size_bytes;
}

bool describe_reduction(const Call& call, const CommState& state, Description& d) {
  d.in_place = call.sendbuf == MPI_IN_PLACE;
  const bool rooted = d.collective == Collective::reduce;
  if (d.in_place && rooted && state.rank() != call.root) return false;
  // The generated calls carry count and type of a reduction on the sending side, reduce_scatter's counts on the
  // receiving one.
  const bool scatters = d.collective == Collective::reduce_scatter || d.collective == Collective::reduce_scatter_block;
  const std::int64_t blocks = scatters ? state.size() : 1;
  const std::int64_t count = d.collective == Collective::reduce_scatter_block ? call.recvcount : call.sendcount;
  const void* from = d.in_place ? call.recvbuf : call.sendbuf;
  if (!set_side(d.input, from, call.sendtype, count, call.recvcounts, {}, blocks)) return false;
  if (!reducible(call.op, call.sendtype, d.input.info)) return false;
  d.output = d.input;
  d.output.buffer = static_cast<std::byte*>(call.recvbuf);
  d.output.used = !rooted || state.rank() == call.root;
  int commutes = 0;
  PMPI_Op_commutative(call.op, &commutes);
  d.commutative = commutes != 0;
  d.element_bytes = d.input.info.size_bytes;
  d.own_bytes = total_bytes(d.input);
  d.block_bytes = d.own_bytes / blocks;
  return d.own_bytes > 0 && !refused_as_alias(call, d, state.rank());
}

/// Sides of the collectives that move data, by who sends and who receives.
bool describe_movement(const Call& call, const CommState& state, Description& d) {
  const bool root = state.rank() == call.root;
  const auto all = static_cast<std::int64_t>(state.size());
  bool ok = true;
  switch (d.collective) {
    case Collective::bcast: ok = set_side(d.output, call.recvbuf, call.sendtype, call.sendcount, {}, {}, 1); break;
    case Collective::scatter:
    case Collective::scatterv:
      d.in_place = root && call.recvbuf == MPI_IN_PLACE;
      if (root)
        ok = set_side(d.input, call.sendbuf, call.sendtype, call.sendcount, call.sendcounts, call.senddispls, all);
      if (ok && !d.in_place) ok = set_side(d.output, call.recvbuf, call.recvtype, call.recvcount, {}, {}, 1);
      break;
    case Collective::gather:
    case Collective::gatherv:
      d.in_place = root && call.sendbuf == MPI_IN_PLACE;
      if (!d.in_place) ok = set_side(d.input, call.sendbuf, call.sendtype, call.sendcount, {}, {}, 1);
      if (ok && root)
        ok = set_side(d.output, call.recvbuf, call.recvtype, call.recvcount, call.recvcounts, call.recvdispls, all);
      break;
    case Collective::alltoallv:
      d.in_place = call.sendbuf == MPI_IN_PLACE;
      if (call.form != Form::plain) {
        ok = set_typed_side(d.output, call.recvbuf, call.recvtypes, call.recvcounts, call.recvdispls, all) &&
             (d.in_place ||
              set_typed_side(d.input, call.sendbuf, call.sendtypes, call.sendcounts, call.senddispls, all));
        break;
      }
      [[fallthrough]];
    default: {
      const bool to_all = d.collective == Collective::allgather || d.collective == Collective::allgatherv;
      d.in_place = call.sendbuf == MPI_IN_PLACE;
      ok = set_side(d.output, call.recvbuf, call.recvtype, call.recvcount, call.recvcounts, call.recvdispls, all);
      if (ok && !d.in_place) {
        ok = set_side(d.input, call.sendbuf, call.sendtype, call.sendcount, call.sendcounts, call.senddispls,
                      to_all ? 1 : all);
      }
    }
  }
  if (!ok) return false;
  if (refused_as_alias(call, d, state.rank())) return false;
  d.own_bytes = total_bytes(d.input.used ? d.input : d.output);
  return true;
}

/// The block size that all ranks know alike.
std::int64_t common_block_bytes(const Description& d, const CommState& state) {
  switch (d.collective) {
    case Collective::scatter: return d.input.used ? total_bytes(d.input) / state.size() : total_bytes(d.output);
    case Collective::gather: return d.output.used ? total_bytes(d.output) / state.size() : total_bytes(d.input);
    case Collective::bcast: return total_bytes(d.output);
    case Collective::scatterv:
    case Collective::gatherv:
    case Collective::alltoallv: return -1;
    default: return total_bytes(d.output) / state.size();
  }
}

void sizes_and_offsets(const Side& side, std::vector<std::int64_t>& bytes, std::vector<std::int64_t>& offsets,
                       bool packed) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < side.blocks; ++i) {
    const std::int64_t size = side.block_bytes(i);
    bytes.push_back(size);
    // What an empty block's displacement says means nothing.
    offsets.push_back(packed || size == 0 ? at : side.offset_bytes(i));
    at += size;
  }
}

}  // namespace

bool describe(const Call& call, const CommState& state, Description& d) {
  d.collective = call.collective;
  if (call.collective == Collective::barrier) return true;
  if (has_root(call.collective) && (call.root < 0 || call.root >= state.size())) return false;
  if (is_reduction(call.collective)) return describe_reduction(call, state, d);
  if (!describe_movement(call, state, d)) return false;
  d.block_bytes = common_block_bytes(d, state);
  if (d.collective == Collective::allgatherv) return total_bytes(d.output) > 0;
  return d.block_bytes != 0;
}

void make_problem(const Call& call, const Description& d, CommState& state, Problem& p) {
  static_cast<void>(state);
  p.root = has_root(d.collective) ? call.root : 0;
  p.element_bytes = d.element_bytes;
  p.commutative = d.commutative;
  const bool exchange = d.collective == Collective::alltoall || d.collective == Collective::alltoallv;
  p.in_place = d.in_place && !exchange;
  p.bytes = d.block_bytes;
  const Side& in = d.input;
  const Side& out = d.output;
  switch (d.collective) {
    case Collective::scatterv:
      if (in.used) sizes_and_offsets(in, p.send_bytes, p.send_offsets, !in.info.contiguous);
      p.bytes = in.used ? p.send_bytes[static_cast<std::size_t>(p.rank)] : total_bytes(out);
      break;
    case Collective::gatherv:
      if (out.used) sizes_and_offsets(out, p.recv_bytes, p.recv_offsets, !out.info.contiguous);
      p.bytes = out.used ? p.recv_bytes[static_cast<std::size_t>(p.rank)] : total_bytes(in);
      break;
    case Collective::allgatherv:
      sizes_and_offsets(out, p.recv_bytes, p.recv_offsets, !out.info.contiguous);
      p.bytes = p.recv_bytes[static_cast<std::size_t>(p.rank)];
      break;
    case Collective::alltoallv:
      sizes_and_offsets(out, p.recv_bytes, p.recv_offsets, !out.info.contiguous);
      // In place, what is sent is packed away first.
      sizes_and_offsets(d.in_place ? out : in, p.send_bytes, p.send_offsets, d.in_place || !in.info.contiguous);
      p.bytes = 0;
      break;
    case Collective::reduce_scatter:
      sizes_and_offsets(in, p.recv_bytes, p.recv_offsets, true);
      p.bytes = p.recv_bytes[static_cast<std::size_t>(p.rank)];
      break;
    default: break;
  }
}

Workspace::Workspace(const Call& call, const Description& d, const Problem& problem, Staging& staging)
    : call_(call), d_(d), problem_(problem), state_(staging) {}

int Workspace::prepare(std::int64_t scratch_bytes) {
  if (d_.collective == Collective::barrier) return MPI_SUCCESS;
  const Side& data = d_.input.used ? d_.input : d_.output;
  binding_.element = data.info.element;
  binding_.stream = static_cast<std::int64_t>(d_.collective);
  if (is_reduction(d_.collective)) return prepare_reduction(scratch_bytes);
  binding_.base[static_cast<std::size_t>(Space::scratch)] =
      scratch_bytes > 0 ? state_.scratch.get(scratch_bytes) : nullptr;
  if (const int rc = place_output(); rc != MPI_SUCCESS) return rc;
  return place_input();
}

/// Reductions work on the elements where they are: an operation may look at the whole layout of its type.
int Workspace::prepare_reduction(std::int64_t scratch_bytes) {
  const TypeInfo& info = d_.input.info;
  binding_.type = call_.sendtype;
  binding_.size_bytes = info.size_bytes;
  binding_.extent_bytes = info.extent_bytes;
  binding_.op = call_.op;
  binding_.base[static_cast<std::size_t>(Space::input)] = d_.input.buffer;
  binding_.base[static_cast<std::size_t>(Space::output)] = d_.output.used ? d_.output.buffer : nullptr;
  if (scratch_bytes > 0) {
    const std::int64_t elements = scratch_bytes / info.size_bytes + 1;
    binding_.base[static_cast<std::size_t>(Space::scratch)] =
        state_.scratch.get(elements * info.extent_bytes) - info.true_lb_bytes;
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
  base = state_.output_staging.get(total_bytes(side));
  unpack_ = d_.collective != Collective::bcast || problem_.rank != problem_.root;
  if (!unpack_) return pack_block(side, 0, base);
  if (problem_.in_place)
    return pack_block(side, problem_.rank, base + problem_.output_block(problem_.rank).offset_bytes);
  return MPI_SUCCESS;
}

int Workspace::place_input() {
  std::byte*& base = binding_.base[static_cast<std::size_t>(Space::input)];
  std::byte*& output = binding_.base[static_cast<std::size_t>(Space::output)];
  const bool exchange = d_.collective == Collective::alltoall || d_.collective == Collective::alltoallv;
  const bool scatters = d_.collective == Collective::scatter || d_.collective == Collective::scatterv;
  const Side& side = exchange && d_.in_place ? d_.output : d_.input;
  if (d_.in_place && !exchange && !scatters) {
    base = output + problem_.output_block(problem_.rank).offset_bytes;
    return MPI_SUCCESS;
  }
  if (side.used) {
    if (side.info.contiguous && !(exchange && d_.in_place)) {
      base = side.buffer;
    } else {
      base = state_.input_staging.get(total_bytes(side));
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
    // The program's own block is where it was.
    if (count == 0 || (problem_.in_place && i == problem_.rank)) continue;
    const int rc =
        unpack(base + offset, side.buffer + side.offset_bytes(i), count, side.block_type(i), side.block_info(i));
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

}  // namespace antiphon::mpi
