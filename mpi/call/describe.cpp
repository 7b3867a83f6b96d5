// SPDX-License-Identifier: Apache-2.0
#include "call/describe.hpp"

#include "call/alias.hpp"
#include "call/reducible.hpp"

namespace antiphon::mpi {

namespace {

constexpr const char* nothing_to_move = "nothing to move";
constexpr const char* sends_where_it_receives = "sent from where it is received, which the library reports";
constexpr const char* not_reducible = "an operation or a type that only the library can reduce";

/// Notes why the call must be left to the library.
bool refuse(Description& d, const char* obstacle) {
  d.obstacle = obstacle;
  return false;
}

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

/// Sets a side of alltoallw.
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

bool describe_reduction(Description& d) {
  const Call& call = *d.call;
  d.in_place = call.sendbuf == MPI_IN_PLACE;
  const bool rooted = d.collective == Collective::reduce;
  if (d.in_place && rooted && d.rank != call.root) return false;
  // The generated calls carry a reduction's count and type on the sending side, and reduce_scatter's counts on the
  // receiving side.
  const bool scatters = d.collective == Collective::reduce_scatter || d.collective == Collective::reduce_scatter_block;
  const std::int64_t blocks = scatters ? d.size : 1;
  const std::int64_t count = d.collective == Collective::reduce_scatter_block ? call.recvcount : call.sendcount;
  const void* from = d.in_place ? call.recvbuf : call.sendbuf;
  if (!set_side(d.input, from, call.sendtype, count, call.recvcounts, {}, blocks)) return false;
  d.own_bytes = d.input.total_bytes();
  d.block_bytes = d.own_bytes / blocks;
  if (!reducible(call.op, call.sendtype, d.input.info)) return refuse(d, not_reducible);
  d.output = d.input;
  d.output.buffer = static_cast<std::byte*>(call.recvbuf);
  d.output.used = !rooted || d.rank == call.root;
  int commutes = 0;
  PMPI_Op_commutative(call.op, &commutes);
  d.commutative = commutes != 0;
  d.exact = is_exact(call.op, call.sendtype);
  d.element_bytes = d.input.info.size_bytes;
  if (d.own_bytes == 0) return refuse(d, nothing_to_move);
  return !refused_as_alias(d) || refuse(d, sends_where_it_receives);
}

/// These set the side that `call` sends from, or the side that it receives to; the side has `blocks` blocks.
bool set_sent(Description& d, std::int64_t blocks) {
  const Call& c = *d.call;
  return set_side(d.input, c.sendbuf, c.sendtype, c.sendcount, c.sendcounts, c.senddispls, blocks);
}
bool set_received(Description& d, std::int64_t blocks) {
  const Call& c = *d.call;
  return set_side(d.output, c.recvbuf, c.recvtype, c.recvcount, c.recvcounts, c.recvdispls, blocks);
}

/// Sets scatter's input (one block of each rank, at the root) and output (one block here).
bool set_scattered(Description& d) {
  const bool root = d.rank == d.call->root;
  d.in_place = root && d.call->recvbuf == MPI_IN_PLACE;
  if (root && !set_sent(d, d.size)) return false;
  if (d.in_place) return true;
  return set_side(d.output, d.call->recvbuf, d.call->recvtype, d.call->recvcount, {}, {}, 1);
}

/// Sets gather's input (one block here) and output (one block of each rank, at the root).
bool set_gathered(Description& d) {
  const bool root = d.rank == d.call->root;
  d.in_place = root && d.call->sendbuf == MPI_IN_PLACE;
  if (!d.in_place && !set_side(d.input, d.call->sendbuf, d.call->sendtype, d.call->sendcount, {}, {}, 1)) return false;
  return !root || set_received(d, d.size);
}

/// Sets the sides of collectives in which all ranks receive blocks of all ranks.
bool set_exchanged(Description& d) {
  const Call& c = *d.call;
  const bool to_all = d.collective == Collective::allgather || d.collective == Collective::allgatherv;
  d.in_place = c.sendbuf == MPI_IN_PLACE;
  if (d.collective == Collective::alltoallv && c.form != Form::plain) {
    if (!set_typed_side(d.output, c.recvbuf, c.recvtypes, c.recvcounts, c.recvdispls, d.size)) return false;
    return d.in_place || set_typed_side(d.input, c.sendbuf, c.sendtypes, c.sendcounts, c.senddispls, d.size);
  }
  return set_received(d, d.size) && (d.in_place || set_sent(d, to_all ? 1 : d.size));
}

bool set_sides(Description& d) {
  switch (d.collective) {
    case Collective::bcast: return set_side(d.output, d.call->recvbuf, d.call->sendtype, d.call->sendcount, {}, {}, 1);
    case Collective::scatter:
    case Collective::scatterv: return set_scattered(d);
    case Collective::gather:
    case Collective::gatherv: return set_gathered(d);
    default: return set_exchanged(d);
  }
}

/// Describes the collectives that move data.
bool describe_movement(Description& d) {
  if (!set_sides(d)) return false;
  if (refused_as_alias(d)) return refuse(d, sends_where_it_receives);
  d.own_bytes = d.own_side().total_bytes();
  return true;
}

/// Returns the block size that all ranks know alike.
std::int64_t common_block_bytes(const Description& d) {
  switch (d.collective) {
    case Collective::scatter: return d.input.used ? d.input.total_bytes() / d.size : d.output.total_bytes();
    case Collective::gather: return d.output.used ? d.output.total_bytes() / d.size : d.input.total_bytes();
    case Collective::bcast: return d.output.total_bytes();
    case Collective::scatterv:
    case Collective::gatherv:
    case Collective::alltoallv: return -1;
    default: return d.output.total_bytes() / d.size;
  }
}

void sizes_and_offsets(const Side& side, std::vector<std::int64_t>& bytes, std::vector<std::int64_t>& offsets,
                       bool packed) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < side.blocks; ++i) {
    const std::int64_t size = side.block_bytes(i);
    bytes.push_back(size);
    // The displacement of an empty block has no meaning.
    offsets.push_back(packed || size == 0 ? at : side.offset_bytes(i));
    at += size;
  }
}

/// Returns false if the call must be left to the library.
bool fill(Description& d) {
  const Call& call = *d.call;
  if (d.collective == Collective::barrier) return true;
  if (has_root(d.collective) && (call.root < 0 || call.root >= d.size)) return false;
  if (is_reduction(d.collective)) return describe_reduction(d);
  if (!describe_movement(d)) return false;
  d.block_bytes = common_block_bytes(d);
  const bool moves = d.collective == Collective::allgatherv ? d.output.total_bytes() > 0 : d.block_bytes != 0;
  return moves || refuse(d, nothing_to_move);
}

}  // namespace

Description describe(const Call& call, int rank, int size) {
  Description d;
  d.call = &call;
  d.rank = rank;
  d.size = size;
  d.collective = call.collective;
  d.schedulable = fill(d);
  return d;
}

std::int64_t mean_block_bytes(const Description& d, bool of_neighbours) {
  if (!d.schedulable && d.own_bytes == 0) return d.obstacle == nothing_to_move ? 0 : -1;
  if (d.block_bytes >= 0) return d.block_bytes;
  const Side& side = d.own_side();
  std::int64_t blocks = side.blocks;
  if (of_neighbours) {
    blocks = 0;
    for (std::int64_t i = 0; i < side.blocks; ++i) blocks += side.block_count(i) > 0 ? 1 : 0;
  }
  return blocks > 0 ? d.own_bytes / blocks : 0;
}

void make_problem(const Description& d, Problem& p) {
  p.root = has_root(d.collective) ? d.call->root : 0;
  p.element_bytes = d.element_bytes;
  p.commutative = d.commutative;
  p.in_place = d.in_place && !d.is_exchange();
  p.bytes = d.block_bytes;
  const Side& in = d.input;
  const Side& out = d.output;
  switch (d.collective) {
    case Collective::scatterv:
      if (in.used) sizes_and_offsets(in, p.send_bytes, p.send_offsets, !in.info.contiguous);
      p.bytes = in.used ? p.send_bytes[static_cast<std::size_t>(p.rank)] : out.total_bytes();
      break;
    case Collective::gatherv:
      if (out.used) sizes_and_offsets(out, p.recv_bytes, p.recv_offsets, !out.info.contiguous);
      p.bytes = out.used ? p.recv_bytes[static_cast<std::size_t>(p.rank)] : in.total_bytes();
      break;
    case Collective::allgatherv:
      sizes_and_offsets(out, p.recv_bytes, p.recv_offsets, !out.info.contiguous);
      p.bytes = p.recv_bytes[static_cast<std::size_t>(p.rank)];
      break;
    case Collective::alltoallv:
      sizes_and_offsets(out, p.recv_bytes, p.recv_offsets, !out.info.contiguous);
      // In place, the data to send is packed away first.
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

}  // namespace antiphon::mpi
