// SPDX-License-Identifier: Apache-2.0
#include "compress/tracked.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "compress/mutex.hpp"
#include "compress/table.hpp"

namespace antiphon::mpi {

namespace {

Mutex table_mutex;
Table<Tracked> table;
/// This holds persistent sends that the library completes alone, because their message, if any, travels as it is.
Table<Tracked> library_alone;
std::atomic<int> tracked_count{0};
std::atomic<int> alone_count{0};

Mutex freed_mutex;
std::vector<std::unique_ptr<Tracked>> freed;
std::atomic<int> freed_count{0};

std::uint64_t ticket_of(const Tracked* t) { return t != nullptr && t->receive ? t->receive->ticket : 0; }

/// These parcels hold what the library may still be reading when MPI ends.
std::vector<Parcel>& unsent() {
  static auto* parcels = new std::vector<Parcel>;
  return *parcels;
}

/// Drops, at the end of MPI, a send that the program has cancelled; perhaps no rank ever receives it.
void drop_unwanted(Tracked& t) {
  int done = 0;
  PMPI_Test(&t.handle, &done, MPI_STATUS_IGNORE);
  if (done != 0) return;
  PMPI_Cancel(&t.handle);
  PMPI_Request_free(&t.handle);
  unsent().push_back(std::move(t.parcel));
}

/// Returns true if the request is complete.
bool tend(Tracked& t, bool wait) {
  if (wait && t.given_up) return drop_unwanted(t), true;
  int done = 1;
  MPI_Status status;
  MPI_Request& request = t.inner != MPI_REQUEST_NULL ? t.inner : t.handle;
  if (t.receive) enter_call(*t.receive);
  const bool waits = wait && !t.receive;
  const int code = waits ? PMPI_Wait(&request, &status) : PMPI_Test(&request, &done, &status);
  if (done == 0) {
    if (t.receive) leave_call(*t.receive);
    return false;
  }
  if (t.receive) static_cast<void>(finish(*t.receive, status, code));
  if (t.persistent) PMPI_Request_free(&t.handle);
  return true;
}

}  // namespace

bool some_tracked() { return tracked_count.load(std::memory_order_relaxed) != 0; }
bool some_to_start() { return some_tracked() || alone_count.load(std::memory_order_relaxed) != 0; }

void track(std::unique_ptr<Tracked> tracked) {
  const std::lock_guard lock(table_mutex);
  const MPI_Request handle = tracked->handle;
  const bool alone = tracked->persistent && !tracked->receive && tracked->inner == MPI_REQUEST_NULL;
  // If something is there, the library has reused the handle of a message that the program never asked about.
  const std::unique_ptr<Tracked> old((alone ? library_alone : table).put(handle, tracked.release()));
  if (!old) (alone ? alone_count : tracked_count).fetch_add(1, std::memory_order_relaxed);
}

void track_idle(MPI_Request persistent) {
  auto tracked = std::make_unique<Tracked>();
  tracked->persistent = true;
  tracked->active = false;
  tracked->handle = persistent;
  track(std::move(tracked));
}

std::unique_ptr<Tracked> take(MPI_Request request) {
  if (!some_tracked() || request == MPI_REQUEST_NULL) return nullptr;
  const std::lock_guard lock(table_mutex);
  std::unique_ptr<Tracked> tracked(table.take(request));
  if (tracked) tracked_count.fetch_sub(1, std::memory_order_relaxed);
  return tracked;
}

std::unique_ptr<Tracked> take_to_start(MPI_Request request) {
  if (auto tracked = take(request)) return tracked;
  const std::lock_guard lock(table_mutex);
  std::unique_ptr<Tracked> tracked(library_alone.take(request));
  if (tracked) alone_count.fetch_sub(1, std::memory_order_relaxed);
  return tracked;
}

void adopt_freed(std::unique_ptr<Tracked> tracked) {
  const std::lock_guard lock(freed_mutex);
  freed.push_back(std::move(tracked));
  freed_count.store(static_cast<int>(freed.size()), std::memory_order_relaxed);
}

void let_go_on(MPI_Request send, Parcel parcel) {
  auto rest = std::make_unique<Tracked>();
  rest->given_up = true;
  rest->handle = send;
  rest->parcel = std::move(parcel);
  adopt_freed(std::move(rest));
}

void tend_freed(bool wait) {
  if (freed_count.load(std::memory_order_relaxed) == 0) return;
  std::vector<std::unique_ptr<Tracked>> mine;
  {
    const std::lock_guard lock(freed_mutex);
    mine.swap(freed);
  }
  mine.erase(std::remove_if(mine.begin(), mine.end(), [&](auto& t) { return tend(*t, wait); }), mine.end());
  const std::lock_guard lock(freed_mutex);
  for (auto& t : mine) freed.push_back(std::move(t));
  freed_count.store(static_cast<int>(freed.size()), std::memory_order_relaxed);
}

Batch::Batch(int count, const MPI_Request* requests) : failed_comm_(MPI_COMM_NULL) {
  if (!some_tracked()) return;
  for (int i = 0; i < count; ++i) {
    auto tracked = take(requests[i]);
    if (!tracked && !some_) continue;
    if (!some_) {
      some_ = true;
      handles_.assign(requests, requests + count);
      tracked_.resize(static_cast<std::size_t>(count));
    }
    if (!tracked) continue;
    const auto at = static_cast<std::size_t>(i);
    if (tracked->inner != MPI_REQUEST_NULL) handles_[at] = tracked->inner;
    if (tracked->receive && tracked->receive->listed) enter_call(*tracked->receive);
    tracked_[at] = std::move(tracked);
  }
}

Batch::~Batch() {
  for (auto& t : tracked_) {
    if (!t) continue;
    if (t->receive && t->receive->listed) leave_call(*t->receive);
    track(std::move(t));
  }
  // This call may have completed the message that says that a freed receive has its data.
  tend_freed(false);
}

int Batch::look(int* flag, MPI_Status* status) {
  const int code = PMPI_Request_get_status(handles_[0], flag, status);
  const Tracked& t = *tracked_[0];
  if (code != MPI_SUCCESS || *flag == 0 || !t.receive || (t.persistent && !t.active)) return code;
  Receive& r = *t.receive;
  r.error = finish(r, *status, MPI_SUCCESS);
  r.status = *status;
  const std::lock_guard lock(r.messages->matching);
  r.state = Receive::State::finished;
  return code;
}

bool Batch::settle(std::vector<Done>& done, MPI_Request* program) {
  std::vector<bool> is_done(tracked_.size());
  for (const Done& d : done) is_done[static_cast<std::size_t>(d.index)] = true;
  // The requests that go on come first: they are free again, and finish() may ask about them.
  for (std::size_t i = 0; i < tracked_.size(); ++i) {
    if (!tracked_[i]) program[i] = handles_[i];
    if (is_done[i] || !tracked_[i]) continue;
    if (tracked_[i]->receive && tracked_[i]->receive->listed) leave_call(*tracked_[i]->receive);
    track(std::move(tracked_[i]));
  }
  // Decodes in the order of posting, because a later message of a channel may build on an earlier one.
  std::sort(done.begin(), done.end(), [&](const Done& a, const Done& b) {
    return ticket_of(tracked_[static_cast<std::size_t>(a.index)].get()) <
           ticket_of(tracked_[static_cast<std::size_t>(b.index)].get());
  });
  bool failed = false;
  for (Done& d : done) failed |= finish_one(d, program);
  return failed;
}

bool Batch::finish_one(Done& done, MPI_Request* program) {
  auto& t = tracked_[static_cast<std::size_t>(done.index)];
  if (!t) return false;
  program[done.index] = t->persistent ? t->handle : MPI_REQUEST_NULL;
  bool failed = false;
  const bool counts = !t->persistent || t->active;
  if (t->receive && counts) {
    const int code = finish(*t->receive, *done.status, done.code);
    unlist_receive(*t->receive);
    failed = code != MPI_SUCCESS && done.code == MPI_SUCCESS;
    if (failed) failed_comm_ = t->receive->wanted.comm;
    done.code = code;
  }
  if (!t->persistent) {
    if (t->given_up) let_go_on(t->handle, std::move(t->parcel));
    t.reset();
    return failed;
  }
  t->active = t->given_up = false;
  t->inner = MPI_REQUEST_NULL;
  t->parcel = Parcel();
  track(std::move(t));
  return failed;
}

}  // namespace antiphon::mpi
