// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "compress/framed.hpp"
#include "compress/starting.hpp"
#include "compress/tracked.hpp"

namespace antiphon::mpi {

namespace {

using Done = std::vector<Batch::Done>;

/// Handles one complete request and returns what the call returns.
int settle_one(Batch& batch, Done done, MPI_Request* program) {
  const int library_code = done[0].code;
  batch.settle(done, program);
  return report(done[0].code, library_code, batch.failed_comm());
}

/// Handles several complete requests; their statuses carry codes, as MPI_Waitall and similar calls report them.
int settle_many(Batch& batch, Done done, MPI_Request* program, MPI_Status* statuses, int count, int library_code) {
  const bool failed = batch.settle(done, program);
  if (!failed && library_code == MPI_SUCCESS) return MPI_SUCCESS;
  if (library_code == MPI_SUCCESS) {
    for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
  }
  for (const Batch::Done& d : done) d.status->MPI_ERROR = d.code;
  if (!failed) return library_code;
  return report(MPI_ERR_IN_STATUS, library_code, batch.failed_comm());
}

Done all_done(int count, MPI_Status* statuses, int library_code) {
  Done done;
  for (int i = 0; i < count; ++i) {
    if (library_code == MPI_SUCCESS) done.push_back({i, &statuses[i], MPI_SUCCESS});
    if (library_code == MPI_ERR_IN_STATUS && statuses[i].MPI_ERROR != MPI_ERR_PENDING) {
      done.push_back({i, &statuses[i], statuses[i].MPI_ERROR});
    }
  }
  return done;
}

Done some_done(int count, const int* indices, MPI_Status* statuses, int library_code) {
  Done done;
  for (int k = 0; count != MPI_UNDEFINED && k < count; ++k) {
    done.push_back({indices[k], &statuses[k], library_code == MPI_SUCCESS ? MPI_SUCCESS : statuses[k].MPI_ERROR});
  }
  return done;
}

/// With several threads, decodes each message when it arrives, because another thread's message may build on it.
int wait_for_each(int count, MPI_Request requests[], MPI_Status statuses[]) {
  std::vector<int> indices(static_cast<std::size_t>(count));
  std::vector<MPI_Status> some(static_cast<std::size_t>(count));
  std::vector<bool> seen(static_cast<std::size_t>(count));
  int result = MPI_SUCCESS;
  while (true) {
    int done = 0;
    const int code = framed::waitsome(count, requests, &done, indices.data(), some.data());
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return code;
    if (code != MPI_SUCCESS) result = code;
    if (done == MPI_UNDEFINED) break;
    for (int k = 0; k < done; ++k) {
      const auto at = static_cast<std::size_t>(indices[static_cast<std::size_t>(k)]);
      statuses[at] = some[static_cast<std::size_t>(k)];
      if (code == MPI_SUCCESS) statuses[at].MPI_ERROR = MPI_SUCCESS;
      seen[at] = true;
    }
  }
  // Null and inactive requests get empty statuses.
  MPI_Request nothing = MPI_REQUEST_NULL;
  for (int i = 0; i < count; ++i) {
    if (seen[static_cast<std::size_t>(i)]) continue;
    PMPI_Wait(&nothing, &statuses[i]);
    statuses[i].MPI_ERROR = MPI_SUCCESS;
  }
  return result;
}

int start_tracked(Tracked& t) {
  int result = MPI_SUCCESS;
  if (!t.receive) {
    if (!start_framed(t.sends, t.parcel, &t.inner, result)) {
      t.parcel = Parcel();
      return PMPI_Start(&t.handle);
    }
    t.active = result == MPI_SUCCESS;
    return result;
  }
  Receive& r = *t.receive;
  std::unique_lock matching(r.messages->matching);
  if (Extracted message; take_extracted(*r.messages, r.wanted.peer, r.wanted.tag, message)) {
    result = begin_extracted(r, matching, std::move(message), &t.inner);
    t.active = result == MPI_SUCCESS;
    return result;
  }
  // The library's persistent request knows one buffer; if that must stay free, an ordinary request replaces it.
  keep_apart(r);
  if (r.aside) {
    result = native::irecv(r.buffer(), r.count(), r.type(), r.wanted.peer, r.wanted.tag, r.wanted.comm, &t.inner);
  } else {
    result = PMPI_Start(&t.handle);
  }
  if (result != MPI_SUCCESS) return result;
  list_receive(r, r.aside ? t.inner : t.handle);
  t.active = true;
  return result;
}

/// Does the same, and reports memory that is out.
int start_guarded(Tracked& t) {
  return framed::guarded(t.receive ? t.receive->wanted.comm : t.sends.comm, [&] { return start_tracked(t); });
}

/// A cancelled message that is a copy still continues, because later ones may build on it. The program need not wait
/// for it, and learns that it was not cancelled.
void give_up(Tracked& t) {
  if (t.inner != MPI_REQUEST_NULL) let_go_on(t.inner, std::move(t.parcel));
  t.given_up = true;
  t.inner = completed_request();
}

}  // namespace

namespace framed {

int start(MPI_Request* request) {
  tend_freed(false);
  auto tracked = take_to_start(*request);
  if (!tracked) return PMPI_Start(request);
  const int result = start_guarded(*tracked);
  track(std::move(tracked));
  return result;
}

/// Starts sends before receives; the standard leaves the order open. Suppose two ranks exchange long messages, and the
/// later one posts its receive first. It then answers its peer's request to send before it announces its own message.
/// By that time the peer's link is full of data, the peer's answer waits behind the data, and the two messages travel
/// one after the other (docs/findings/compression). The order stays among sends, among receives, and relative to
/// requests that belong to the library alone.
int startall(int count, MPI_Request requests[]) {
  tend_freed(false);
  if (!some_to_start()) return PMPI_Startall(count, requests);
  std::vector<std::unique_ptr<Tracked>> receives;
  const auto start_receives = [&] {
    int result = MPI_SUCCESS;
    for (auto& receive : receives) {
      if (result == MPI_SUCCESS) result = start_guarded(*receive);
      track(std::move(receive));
    }
    receives.clear();
    return result;
  };
  int result = MPI_SUCCESS;
  for (int i = 0; i < count && result == MPI_SUCCESS; ++i) {
    auto tracked = take_to_start(requests[i]);
    if (tracked && tracked->receive) {
      receives.push_back(std::move(tracked));
    } else if (tracked) {
      result = start_guarded(*tracked);
      track(std::move(tracked));
    } else {
      result = start_receives();
      if (result == MPI_SUCCESS) result = PMPI_Start(&requests[i]);
    }
  }
  const int last = start_receives();
  return result != MPI_SUCCESS ? result : last;
}

int wait(MPI_Request* request, MPI_Status* status) {
  Batch batch(1, request);
  if (batch.plain()) return PMPI_Wait(request, status);
  const int code = PMPI_Wait(batch.requests(), status);
  return settle_one(batch, {{0, status, code}}, request);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  Batch batch(1, request);
  if (batch.plain()) return PMPI_Test(request, flag, status);
  const int code = PMPI_Test(batch.requests(), flag, status);
  Done done;
  if (*flag != 0 || code != MPI_SUCCESS) return settle_one(batch, {{0, status, code}}, request);
  batch.settle(done, request);
  return code;
}

int waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (framing_state.threads && count > 1 && some_tracked()) return wait_for_each(count, requests, statuses);
  Batch batch(count, requests);
  if (batch.plain()) return PMPI_Waitall(count, requests, statuses);
  const int code = PMPI_Waitall(count, batch.requests(), statuses);
  return settle_many(batch, all_done(count, statuses, code), requests, statuses, count, code);
}

int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  Batch batch(count, requests);
  if (batch.plain()) return PMPI_Testall(count, requests, flag, statuses);
  const int code = PMPI_Testall(count, batch.requests(), flag, statuses);
  if (code == MPI_SUCCESS && *flag == 0) {
    Done none;
    batch.settle(none, requests);
    return code;
  }
  return settle_many(batch, all_done(count, statuses, code), requests, statuses, count, code);
}

int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  Batch batch(count, requests);
  if (batch.plain()) return PMPI_Waitany(count, requests, index, status);
  const int code = PMPI_Waitany(count, batch.requests(), index, status);
  Done none;
  if (*index != MPI_UNDEFINED) return settle_one(batch, {{*index, status, code}}, requests);
  batch.settle(none, requests);
  return code;
}

int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  Batch batch(count, requests);
  if (batch.plain()) return PMPI_Testany(count, requests, index, flag, status);
  const int code = PMPI_Testany(count, batch.requests(), index, flag, status);
  Done none;
  if (*flag != 0 && *index != MPI_UNDEFINED) return settle_one(batch, {{*index, status, code}}, requests);
  batch.settle(none, requests);
  return code;
}

int waitsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  Batch batch(incount, requests);
  if (batch.plain()) return PMPI_Waitsome(incount, requests, outcount, indices, statuses);
  const int code = PMPI_Waitsome(incount, batch.requests(), outcount, indices, statuses);
  const int done = *outcount == MPI_UNDEFINED ? 0 : *outcount;
  return settle_many(batch, some_done(done, indices, statuses, code), requests, statuses, done, code);
}

int testsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]) {
  Batch batch(incount, requests);
  if (batch.plain()) return PMPI_Testsome(incount, requests, outcount, indices, statuses);
  const int code = PMPI_Testsome(incount, batch.requests(), outcount, indices, statuses);
  const int done = *outcount == MPI_UNDEFINED ? 0 : *outcount;
  return settle_many(batch, some_done(done, indices, statuses, code), requests, statuses, done, code);
}

int cancel(MPI_Request* request) {
  auto tracked = take_to_start(*request);
  if (!tracked) return PMPI_Cancel(request);
  if (tracked->parcel.is_copy() && !tracked->given_up) {
    give_up(*tracked);
    track(std::move(tracked));
    return MPI_SUCCESS;
  }
  if (tracked->receive) tracked->receive->may_be_cancelled = true;
  MPI_Request handle = tracked->inner != MPI_REQUEST_NULL ? tracked->inner : tracked->handle;
  const int result = PMPI_Cancel(&handle);
  track(std::move(tracked));
  return result;
}

int request_free(MPI_Request* request) {
  auto tracked = take_to_start(*request);
  if (!tracked) return PMPI_Request_free(request);
  if (tracked->given_up) PMPI_Request_free(&tracked->inner);
  if (tracked->persistent && (tracked->given_up || !tracked->active)) return PMPI_Request_free(request);
  // The library may continue, so what is kept for it must stay too.
  *request = MPI_REQUEST_NULL;
  adopt_freed(std::move(tracked));
  return MPI_SUCCESS;
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Batch batch(1, &request);
  if (batch.plain()) return PMPI_Request_get_status(request, flag, status);
  return batch.look(flag, status);
}

#if ANTIPHON_HAS_LARGE_COUNT

int request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (!some_tracked()) return PMPI_Request_get_status_all(count, requests, flag, statuses);
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    int one = 0;
    if (const int code = request_get_status(requests[i], &one, &statuses[i]); code != MPI_SUCCESS) return code;
    if (one == 0) *flag = 0;
  }
  return MPI_SUCCESS;
}

/// Looks at one request. Only the library tells whether one is active: a status does not, since that of a send may be
/// empty.
static int look_at(MPI_Request request, bool* active, int* flag, MPI_Status* status) {
  Batch batch(1, &request);
  int index = 0;
  const MPI_Request* const own = batch.plain() ? &request : batch.requests();
  const int code = PMPI_Request_get_status_any(1, own, &index, flag, status);
  *active = code == MPI_SUCCESS && (*flag == 0 || index != MPI_UNDEFINED);
  return !*active || batch.plain() ? code : batch.look(flag, status);
}

/// Lists the active requests that are complete, at most `most`.
static int look_at_each(int count, const MPI_Request requests[], int most, int* active, int* done, int indices[],
                        MPI_Status statuses[]) {
  *active = *done = 0;
  for (int i = 0; i < count && *done < most; ++i) {
    int flag = 0;
    MPI_Status status;
    bool is_active = false;
    if (const int code = look_at(requests[i], &is_active, &flag, &status); code != MPI_SUCCESS) return code;
    if (!is_active) continue;
    ++*active;
    if (flag == 0) continue;
    indices[*done] = i;
    statuses[(*done)++] = status;
  }
  return MPI_SUCCESS;
}

int request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  if (!some_tracked()) return PMPI_Request_get_status_any(count, requests, index, flag, status);
  int active = 0;
  int done = 0;
  const int code = look_at_each(count, requests, 1, &active, &done, index, status);
  *flag = done > 0 || active == 0 ? 1 : 0;
  if (done == 0) *index = MPI_UNDEFINED;
  int nothing = 0;
  return code == MPI_SUCCESS && active == 0 ? PMPI_Request_get_status(MPI_REQUEST_NULL, &nothing, status) : code;
}

int request_get_status_some(int incount, const MPI_Request requests[], int* outcount, int indices[],
                            MPI_Status statuses[]) {
  if (!some_tracked()) return PMPI_Request_get_status_some(incount, requests, outcount, indices, statuses);
  int active = 0;
  const int code = look_at_each(incount, requests, incount, &active, outcount, indices, statuses);
  if (active == 0) *outcount = MPI_UNDEFINED;
  return code;
}

#endif

}  // namespace framed
}  // namespace antiphon::mpi
