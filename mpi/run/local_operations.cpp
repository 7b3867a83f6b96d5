// SPDX-License-Identifier: Apache-2.0
#include "run/local_operations.hpp"

#include <algorithm>
#include <cstring>

namespace antiphon::mpi {

namespace {

/// A rank's messages to itself have this tag; no schedule sends such messages.
constexpr int copy_tag = 32000;

/// Calls part(offset in memory, elements) until all of these bytes are covered, because MPI's counts are ints.
template <class Part>
int in_parts(std::int64_t bytes, const Binding& binding, Part&& part) {
  constexpr std::int64_t most = 1 << 30;
  const std::int64_t count = bytes / binding.size_bytes;
  for (std::int64_t i = 0; i < count; i += most) {
    const int rc = part(i * binding.extent_bytes, static_cast<int>(std::min(most, count - i)));
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

std::int64_t longest_encoded(const Schedule& schedule) {
  std::int64_t bytes = 0;
  for (const Op& op : schedule.ops()) {
    if (op.kind == OpKind::encode) bytes = std::max(bytes, op.piece_size(0));
  }
  return bytes;
}

}  // namespace

LocalOperations::LocalOperations(const Schedule& schedule, MPI_Comm comm, int rank, const CodingTerms& coding)
    : schedule_(schedule), comm_(comm), rank_(rank), coder_(longest_encoded(schedule), comm, coding) {}

int LocalOperations::run(const Op& op, const Progress::Piece& piece, const Binding& binding) {
  const std::int64_t bytes = op.piece_size(piece.index);
  const auto size = static_cast<std::size_t>(bytes);
  const std::byte* const from = binding.address(op.from_piece(piece.index));
  std::byte* const to = binding.address(op.to_piece(piece.index));
  if (op.kind == OpKind::encode) return coder_.encode(to, {from, size}, piece.index + 1 == op.pieces(), binding);
  if (op.kind == OpKind::decode) return decode(op, {to, size}, from);
  if (bytes == 0) return MPI_SUCCESS;
  if (op.kind == OpKind::copy) return copy(from, to, bytes, binding);
  return in_parts(bytes, binding, [&](std::int64_t offset, int count) {
    return PMPI_Reduce_local(from + offset, to + offset, count, binding.type, binding.op);
  });
}

/// Decodes what the receive into these slots has brought.
int LocalOperations::decode(const Op& op, std::span<std::byte> to, const std::byte* slot) const {
  const auto ops = schedule_.ops();
  const auto receive =
      std::find_if(ops.begin(), ops.end(), [&](const Op& o) { return o.kind == OpKind::recv && o.to == op.from; });
  return coder_.decode(to, slot, comm_, receive == ops.end() ? rank_ : receive->peer);
}

int LocalOperations::copy(const std::byte* from, std::byte* to, std::int64_t bytes, const Binding& binding) const {
  if (from == to) return MPI_SUCCESS;
  if (!binding.has_gaps()) {
    std::memmove(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  // MPI copies only the elements; what lies between them is the program's and stays as it is.
  return in_parts(bytes, binding, [&](std::int64_t offset, int count) {
    return PMPI_Sendrecv(from + offset, count, binding.type, rank_, copy_tag, to + offset, count, binding.type, rank_,
                         copy_tag, comm_, MPI_STATUS_IGNORE);
  });
}

}  // namespace antiphon::mpi
