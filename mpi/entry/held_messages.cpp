// SPDX-License-Identifier: Apache-2.0
#include "entry/held_messages.hpp"

#include <algorithm>
#include <utility>

#include "compress/framing.hpp"
#include "compress/messages.hpp"
#include "job/clock.hpp"
#include "run/library_progress.hpp"

namespace antiphon::mpi {

namespace {

/// The library may look once or twice while it starts a message. Whoever looks more often waits.
constexpr int few_looks = 16;
/// A rank that was away for longer does not catch up: what leaves all at once overruns ports.
constexpr double longest_lag_s = 2e-3;

}  // namespace

int HeldMessages::hold(const P2pCall& call, std::int64_t bytes, Distance distance) {
  // Made here, where the program calls: the library's progress must not make it.
  if (framing()) Messages::of(call.comm);
  Message message{{SendMode::standard, call.buffer, call.count, call.type, call.peer, call.tag, call.comm},
                  OwnType(call.type),
                  bytes,
                  distance,
                  {},
                  MPI_REQUEST_NULL,
                  {}};
  message.arguments.type = message.type.get();
  auto* const request = const_cast<MPI_Request*>(call.requests);
  if (const int rc = message.request.begin(request); rc != MPI_SUCCESS) return rc;
  message.program = *request;
  messages_.push_back(std::move(message));
  return MPI_SUCCESS;
}

void HeldMessages::release(bool rotates, bool paced, bool waits) {
  const auto nearer = [](const Message& a, const Message& b) { return a.distance < b.distance; };
  if (rotates && !released()) std::stable_sort(messages_.begin(), messages_.end(), nearer);
  if (!released()) due_s_ = now_s();
  paced_ = paced;
  released_ = true;
  start_next(waits);
}

bool HeldMessages::has(MPI_Request request) const {
  return std::any_of(messages_.begin(), messages_.end(), [&](const Message& m) { return m.program == request; });
}

/// Starts each message when the ones before have had time to leave.
void HeldMessages::start_next(bool waits) {
  while (next_ < messages_.size() && !(paced_ && now_s() < due_s_)) {
    Message& m = messages_[next_];
    const Started done = start_held(m.arguments, waits, m.parcel, &m.sent);
    if (!done.started) return;
    if (done.code == MPI_SUCCESS) under_way_.push_back(next_);
    else m.request.end(done.code);
    const auto bytes = static_cast<double>(done.bytes > 0 ? done.bytes : m.bytes);
    due_s_ = std::max(due_s_, now_s() - longest_lag_s) + bytes / bytes_per_s_;
    ++next_;
  }
}

bool HeldMessages::advance() {
  if (!released()) {
    if (++looks_ <= few_looks) return false;
    interrupted_ = true;
    release(true, false, false);
  }
  std::erase_if(under_way_, [&](std::size_t i) {
    if (!is_over(messages_[i].sent)) return false;
    messages_[i].parcel = Parcel();
    messages_[i].request.end(MPI_SUCCESS);
    return true;
  });
  start_next(false);
  return under_way_.empty() && next_ == messages_.size();
}

void HeldMessages::complete() {
  if (last_ == this) last_ = nullptr;
  delete this;
}

}  // namespace antiphon::mpi
