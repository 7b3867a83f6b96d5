// SPDX-License-Identifier: Apache-2.0
#include "run/piece_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "antiphon/slot.hpp"

#include "job/progress.hpp"

namespace antiphon::mpi {

namespace {

/// Makes many elements count as one, for a message with a count that does not fit an int.
class LongType {
 public:
  LongType(std::int64_t count, MPI_Datatype type) {
    constexpr std::int64_t chunk = 1 << 30;
    const auto chunks = static_cast<int>(count / chunk);
    const auto rest = static_cast<int>(count % chunk);
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &lb, &extent);
    MPI_Datatype one = MPI_DATATYPE_NULL;
    MPI_Datatype front = MPI_DATATYPE_NULL;
    PMPI_Type_contiguous(static_cast<int>(chunk), type, &one);
    PMPI_Type_contiguous(chunks, one, &front);
    int lengths[]{1, rest};
    MPI_Aint offsets[]{0, static_cast<MPI_Aint>(chunks) * chunk * extent};
    MPI_Datatype types[]{front, type};
    PMPI_Type_create_struct(2, lengths, offsets, types, &type_);
    PMPI_Type_commit(&type_);
    PMPI_Type_free(&front);
    PMPI_Type_free(&one);
  }
  ~LongType() { PMPI_Type_free(&type_); }
  LongType(const LongType&) = delete;
  LongType& operator=(const LongType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

bool any_encoded(const Schedule& schedule) {
  const auto ops = schedule.ops();
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.encoded; });
}

}  // namespace

PieceMessages::PieceMessages(const Schedule& schedule, MPI_Comm comm, int tag_base)
    : schedule_(schedule), comm_(comm), tag_base_(tag_base), encoded_(any_encoded(schedule)) {}

std::byte* PieceMessages::memory_of(const Piece& piece) const {
  const Op& op = schedule_.ops()[piece.op];
  return binding_->address(op.kind == OpKind::recv ? op.to_piece(piece.index) : op.from_piece(piece.index));
}

int PieceMessages::post(const Piece& piece, int peer, int tag, bool sends) {
  const Op& op = schedule_.ops()[piece.op];
  std::byte* at = memory_of(piece);
  std::int64_t count = op.piece_size(piece.index) / binding_->size_bytes;
  MPI_Datatype unit = binding_->type;
  if (op.encoded) {
    // A message is as long as its frame; a receive has room for the longest one.
    unit = MPI_BYTE;
    count = sends ? slot::frame_length(at) : op.piece_size(piece.index) - slot::length_bytes;
    at += slot::length_bytes;
  }
  if (sends) note_messages();
  const auto post_as = [&](int n, MPI_Datatype type) {
    return sends ? PMPI_Isend(at, n, type, peer, tag_base_ + tag, comm_, requests_.next())
                 : PMPI_Irecv(at, n, type, peer, tag_base_ + tag, comm_, requests_.next());
  };
  const int rc = count <= std::numeric_limits<int>::max() ? post_as(static_cast<int>(count), unit)
                                                          : post_as(1, LongType(count, unit).get());
  if (rc == MPI_SUCCESS) requests_.add({piece, sends});
  return rc;
}

/// Notes the length of each received frame in its slot, where operations that pass it on or decode it find it.
void PieceMessages::note_frame_lengths() {
  requests_.each_status([this](const Message& message, const MPI_Status& status) {
    if (message.sends || !schedule_.ops()[message.piece.op].encoded) return;
    int received_bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &received_bytes);
    slot::set_frame_length(memory_of(message.piece), received_bytes);
  });
}

}  // namespace antiphon::mpi
