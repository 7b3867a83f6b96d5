// SPDX-License-Identifier: Apache-2.0
#include "executor.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace antiphon::mpi {

namespace {

/// A rank's messages to itself, which no schedule sends.
constexpr int copy_tag = 32000;

/// A message unit for pieces whose count does not fit an int: `count` elements as one.
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
    MPI_Aint places[]{0, static_cast<MPI_Aint>(chunks) * chunk * extent};
    MPI_Datatype types[]{front, type};
    PMPI_Type_create_struct(2, lengths, places, types, &type_);
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

}  // namespace

Executor::Executor(Schedule schedule, MPI_Comm comm, bool yield)
    : schedule_(std::move(schedule)), progress_(schedule_), comm_(comm), yield_(yield) {
  PMPI_Comm_rank(comm_, &rank_);
  const std::size_t most = progress_.max_active_messages();
  requests_.resize(most, MPI_REQUEST_NULL);
  owners_.resize(most);
  completed_.resize(most);
}

int Executor::run(const Binding& binding) {
  binding_ = &binding;
  progress_.reset();
  active_ = 0;
  while (true) {
    Progress::Piece piece;
    while (progress_.next(piece)) {
      if (const int rc = start(piece); rc != MPI_SUCCESS) return rc;
    }
    if (progress_.done()) return MPI_SUCCESS;
    // Not done and nothing under way would be a broken schedule, which the in-process verifier excludes; never spin on it.
    if (active_ == 0) return MPI_ERR_INTERN;
    if (const int rc = wait_some(); rc != MPI_SUCCESS) return rc;
  }
}

int Executor::start(const Progress::Piece& piece) {
  const Op& op = schedule_.ops()[piece.op];
  if (op.kind == OpKind::send || op.kind == OpKind::recv) return post(op, piece);
  const int rc = run_local(op, piece);
  progress_.complete(piece);
  return rc;
}

int Executor::post(const Op& op, const Progress::Piece& piece) {
  const std::int64_t offset = op.piece_offset(piece.index);
  const std::int64_t count = op.piece_size(piece.index) / binding_->size_bytes;
  const auto slot = static_cast<std::size_t>(active_);
  const bool sends = op.kind == OpKind::send;
  std::byte* at = address(sends ? op.from : op.to, offset);
  const auto post_as = [&](int n, MPI_Datatype type) {
    return sends ? PMPI_Isend(at, n, type, op.peer, op.tag, comm_, &requests_[slot])
                 : PMPI_Irecv(at, n, type, op.peer, op.tag, comm_, &requests_[slot]);
  };
  const int rc = count <= std::numeric_limits<int>::max() ? post_as(static_cast<int>(count), binding_->type)
                                                          : post_as(1, LongType(count, binding_->type).get());
  if (rc != MPI_SUCCESS) return rc;
  owners_[slot] = piece;
  ++active_;
  return MPI_SUCCESS;
}

int Executor::run_local(const Op& op, const Progress::Piece& piece) {
  const std::int64_t bytes = op.piece_size(piece.index);
  if (bytes == 0) return MPI_SUCCESS;
  const std::byte* from = address(op.from, op.piece_offset(piece.index));
  std::byte* to = address(op.to, op.piece_offset(piece.index));
  const std::int64_t count = bytes / binding_->size_bytes;
  if (op.kind == OpKind::reduce) {
    constexpr std::int64_t most = 1 << 30;
    for (std::int64_t i = 0; i < count; i += most) {
      const int rc = PMPI_Reduce_local(from + i * binding_->extent_bytes, to + i * binding_->extent_bytes,
                                       static_cast<int>(std::min(most, count - i)), binding_->type, binding_->op);
      if (rc != MPI_SUCCESS) return rc;
    }
    return MPI_SUCCESS;
  }
  if (from == to) return MPI_SUCCESS;
  if (binding_->size_bytes == binding_->extent_bytes) {
    std::memmove(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  // Elements with gaps: the gaps of the destination are the program's and stay as they are.
  constexpr std::int64_t most = 1 << 30;
  for (std::int64_t i = 0; i < count; i += most) {
    const auto n = static_cast<int>(std::min(most, count - i));
    const int rc = PMPI_Sendrecv(from + i * binding_->extent_bytes, n, binding_->type, rank_, copy_tag,
                                 to + i * binding_->extent_bytes, n, binding_->type, rank_, copy_tag, comm_, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int Executor::wait_some() {
  int count = 0;
  while (true) {
    const int rc = PMPI_Testsome(active_, requests_.data(), &count, completed_.data(), MPI_STATUSES_IGNORE);
    if (rc != MPI_SUCCESS) return rc;
    if (count > 0) break;
    // Nothing moved: let the ranks that share this core move (MPICH's own waits for some of many do not).
    if (yield_) sched_yield();
  }
  // Free slots from the highest, so that the last active request can fill each hole.
  std::sort(completed_.begin(), completed_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
    const Progress::Piece piece = owners_[slot];
    --active_;
    requests_[slot] = requests_[static_cast<std::size_t>(active_)];
    owners_[slot] = owners_[static_cast<std::size_t>(active_)];
    requests_[static_cast<std::size_t>(active_)] = MPI_REQUEST_NULL;
    progress_.complete(piece);
  }
  return MPI_SUCCESS;
}

std::byte* Executor::address(const Range& range, std::int64_t offset) const {
  std::byte* base = binding_->base[static_cast<std::size_t>(range.space)];
  const std::int64_t packed = range.offset_bytes + offset;
  if (binding_->size_bytes == binding_->extent_bytes) return base + packed;
  return base + packed / binding_->size_bytes * binding_->extent_bytes;
}

}  // namespace antiphon::mpi
