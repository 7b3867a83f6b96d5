// SPDX-License-Identifier: Apache-2.0
#include "run/executor.hpp"

#include <algorithm>
#include <utility>

namespace antiphon::mpi {

namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

bool any_reduces(const Schedule& schedule) {
  const auto ops = schedule.ops();
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.kind == OpKind::reduce; });
}

std::size_t count_messages(const Schedule& schedule) {
  std::int64_t pieces = 0;
  for (const Op& op : schedule.ops()) {
    if (op.is_message()) pieces += op.pieces();
  }
  return static_cast<std::size_t>(pieces);
}

}  // namespace

Executor::Executor(Schedule schedule, MPI_Comm comm, const Options& options)
    : Runner(options.yields), schedule_(std::move(schedule)), progress_(schedule_), rank_(rank_in(comm)),
      messages_(schedule_, comm, {options.tag_base, rank_, options.node_of_rank}),
      local_(schedule_, comm, rank_, options.coding), fan_out_(schedule_, rank_), reduces_(any_reduces(schedule_)) {
  messages_.reserve(progress_.max_active_messages());
  if (fan_out_.is_empty()) all_messages_ = count_messages(schedule_);
}

void Executor::use_carrier(std::unique_ptr<MulticastCarrier> carrier) {
  carrier_ = std::move(carrier);
  messages_.reserve(progress_.max_active_messages() + carrier_->most_messages());
}

int Executor::begin(const Binding& binding) {
  binding_ = &binding;
  failure_ = MPI_SUCCESS;
  progress_.reset();
  messages_.begin(binding);
  if (carrier_) carrier_->begin();
  const int rc = start_all();
  only_waits_ = messages_.active() == all_messages_;
  return note_end(rc);
}

int Executor::go_on(Waiting& waiting) { return note_end(move_on(waiting)); }

/// Tells the carrier if the run is over, because all is done or of this error.
int Executor::note_end(int rc) {
  if (carrier_ && (rc != MPI_SUCCESS || done())) carrier_->end();
  return rc;
}

int Executor::move_on(Waiting& waiting) {
  while (!done()) {
    // The in-process verifier excludes schedules that get stuck; if one still does, an error is better than an endless
    // loop.
    if (!any_under_way()) return MPI_ERR_INTERN;
    bool moved = false;
    const bool blocks = only_waits_ && messages_.only_in_library() && waiting.may_block(messages_.active());
    if (const int rc = blocks ? wait_for_all(moved) : look(waiting, moved); rc != MPI_SUCCESS) return rc;
    if (!moved) return MPI_SUCCESS;
    only_waits_ = false;
    waiting.note_move();
    if (const int rc = start_all(); rc != MPI_SUCCESS) return rc;
  }
  return failure_;
}

/// Hands the thread to the library, which waits best for all messages.
int Executor::wait_for_all(bool& moved) {
  moved = true;
  const int rc = messages_.wait_for_all();
  return rc == MPI_SUCCESS ? retire() : rc;
}

int Executor::look(Waiting& waiting, bool& moved) {
  if (messages_.any_in_library()) waiting.note_library_look();
  if (const int rc = messages_.test(); rc != MPI_SUCCESS) return rc;
  moved = messages_.any_ended();
  if (carrier_ && carrier_->busy()) {
    if (const int rc = carrier_->go_on(waiting, moved); rc != MPI_SUCCESS) return rc;
  }
  return retire();
}

int Executor::start_all() {
  Piece piece;
  while (progress_.next(piece)) {
    if (const int rc = start(piece); rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int Executor::start(const Piece& piece) {
  const Op& op = schedule_.ops()[piece.op];
  if (is_carried(piece.op, op)) return carrier_->start(piece);
  switch (op.kind) {
    case OpKind::multicast: return start_fan_out(piece);
    case OpKind::send: return messages_.send(piece, op.peer, op.tag);
    case OpKind::recv: return messages_.receive(piece, op.peer, op.tag);
    default: break;
  }
  int rc = local_.run(op, piece, *binding_);
  // Other ranks count on this one's messages. Where they are not made of what could not be decoded, the run goes on,
  // and fails at its end.
  if (rc != MPI_SUCCESS && op.kind == OpKind::decode && !reduces_) failure_ = std::exchange(rc, MPI_SUCCESS);
  progress_.complete(piece);
  return rc;
}

int Executor::start_fan_out(const Piece& piece) {
  const int rc = fan_out_.start(piece, messages_);
  if (rc == MPI_SUCCESS && fan_out_.is_complete(piece)) progress_.complete(piece);
  return rc;
}

int Executor::retire() {
  return messages_.retire([this](const Piece& piece) { return finish_message(piece); });
}

int Executor::finish_message(const Piece& piece) {
  const Op& op = schedule_.ops()[piece.op];
  if (is_carried(piece.op, op)) return carrier_->finish_message(piece);
  if (op.kind == OpKind::multicast) {
    fan_out_.note_end(piece);
    if (!fan_out_.is_complete(piece)) return MPI_SUCCESS;
  }
  progress_.complete(piece);
  return MPI_SUCCESS;
}

}  // namespace antiphon::mpi
