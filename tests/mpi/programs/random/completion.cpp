// SPDX-License-Identifier: Apache-2.0
// Ends what is under way, by every call that can, in an order of this rank's own.
#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "script.hpp"

namespace {

/// Some requests of this rank in any order, among them null and inactive ones.
struct Chosen {
  std::vector<int> origins;  // places in under_way, or -1
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;
  std::vector<int> indices;

  [[nodiscard]] int size() const { return static_cast<int>(requests.size()); }
};

Chosen choose(Script& s, bool all) {
  Chosen chosen;
  for (size_t i = 0; i < s.under_way.size(); i++)
    if (all || s.own.chance(60)) chosen.origins.push_back(static_cast<int>(i));
  for (int more = s.own.below(3); more > 0; more--) chosen.origins.push_back(-1);
  s.own.shuffle(chosen.origins);
  for (const int origin : chosen.origins) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (origin >= 0) request = s.under_way[static_cast<size_t>(origin)]->request;
    else if (s.own.chance(50)) request = s.idle;
    chosen.requests.push_back(request);
  }
  chosen.statuses.resize(chosen.requests.size() + 1);
  chosen.indices.resize(chosen.requests.size() + 1);
  return chosen;
}

/// Leaves word for the watchdog.
void note(Script& s, const Chosen& chosen) {
  std::string all;
  for (const int origin : chosen.origins)
    if (origin >= 0) all += s.under_way[static_cast<size_t>(origin)]->what + "; ";
  s.where->doing = "completing";
  std::snprintf(s.where->comm, sizeof s.where->comm, "%s", all.c_str());
}

void end(Script& s, const Chosen& chosen, int index, const MPI_Status& status) {
  const int origin = chosen.origins[static_cast<size_t>(index)];
  if (origin < 0) return;
  std::unique_ptr<Operation>& o = s.under_way[static_cast<size_t>(origin)];
  if (o == nullptr) return s.fail("completion", "a request ended twice");
  const MPI_Request left = chosen.requests[static_cast<size_t>(index)];
  if (left != MPI_REQUEST_NULL) return s.fail(o->what, "its request is not null at the end");
  o->request = MPI_REQUEST_NULL;
  s.finish(*o, status);
  o.reset();
}

/// One by one, by Wait, Test or Request_get_status.
void end_each(Script& s, Chosen& chosen, int how) {
  for (int i = 0; i < chosen.size(); i++) {
    const auto at = static_cast<size_t>(i);
    int done = 0;
    MPI_Status* status = &chosen.statuses[at];
    if (chosen.origins[at] < 0) continue;
    if (how == 0) s.must(MPI_Wait(&chosen.requests[at], status), "wait");
    for (int tries = 0; how == 1 && !done && tries < 5; tries++) {
      s.must(MPI_Test(&chosen.requests[at], &done, status), "test");
      if (!done) sched_yield();
    }
    if (how == 2) {
      s.must(MPI_Request_get_status(chosen.requests[at], &done, status), "request_get_status");
      if (done) s.must(MPI_Wait(&chosen.requests[at], status), "wait");
    }
    if (how == 0 || done) end(s, chosen, i, *status);
  }
}

/// As many as there are, by Waitany or Testany.
void end_any(Script& s, Chosen& chosen, bool waits) {
  for (int tries = 0; tries < 2 * chosen.size(); tries++) {
    int index = MPI_UNDEFINED, done = 1;
    MPI_Status* status = &chosen.statuses[0];
    if (waits) s.must(MPI_Waitany(chosen.size(), chosen.requests.data(), &index, status), "waitany");
    else s.must(MPI_Testany(chosen.size(), chosen.requests.data(), &index, &done, status), "testany");
    if (done && index == MPI_UNDEFINED) return;
    if (done) end(s, chosen, index, *status);
    else sched_yield();
  }
}

void end_some(Script& s, Chosen& chosen, bool waits) {
  for (int tries = 0; tries < chosen.size(); tries++) {
    int ended = 0;
    MPI_Request* requests = chosen.requests.data();
    if (waits) {
      s.must(MPI_Waitsome(chosen.size(), requests, &ended, chosen.indices.data(), chosen.statuses.data()), "waitsome");
    } else {
      s.must(MPI_Testsome(chosen.size(), requests, &ended, chosen.indices.data(), chosen.statuses.data()), "testsome");
    }
    if (ended == MPI_UNDEFINED) return;
    for (int i = 0; i < ended; i++)
      end(s, chosen, chosen.indices[static_cast<size_t>(i)], chosen.statuses[static_cast<size_t>(i)]);
  }
}

void end_all(Script& s, Chosen& chosen, bool waits) {
  int done = 1;
  if (waits) s.must(MPI_Waitall(chosen.size(), chosen.requests.data(), chosen.statuses.data()), "waitall");
  else s.must(MPI_Testall(chosen.size(), chosen.requests.data(), &done, chosen.statuses.data()), "testall");
  for (int i = 0; done && i < chosen.size(); i++) end(s, chosen, i, chosen.statuses[static_cast<size_t>(i)]);
}

}  // namespace

void complete(Script& s, bool all) {
  Chosen chosen = choose(s, all);
  note(s, chosen);
  const int how = s.own.below(all ? 4 : 9);
  switch (how) {
    case 0: end_each(s, chosen, 0); break;
    case 1: end_any(s, chosen, true); break;
    case 2: end_some(s, chosen, true); break;
    case 3: end_all(s, chosen, true); break;
    case 4:
    case 5: end_each(s, chosen, how - 3); break;
    case 6: end_any(s, chosen, false); break;
    case 7: end_some(s, chosen, false); break;
    default: end_all(s, chosen, false);
  }
  std::erase_if(s.under_way, [](const auto& o) { return o == nullptr; });
  if (all && !s.under_way.empty()) {
    Chosen rest = choose(s, true);
    end_all(s, rest, true);
    std::erase_if(s.under_way, [](const auto& o) { return o == nullptr; });
  }
}
