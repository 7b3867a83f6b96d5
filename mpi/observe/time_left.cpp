// SPDX-License-Identifier: Apache-2.0
#include "observe/time_left.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "job/clock.hpp"
#include "observe/watch.hpp"

namespace antiphon::mpi {

namespace {

/// Only a few calls of a round are timed; requests that the program completes in ways that are not seen stay here.
constexpr std::size_t most_watched = 64;

struct Watched {
  MPI_Request request;
  std::shared_ptr<TimeLeft> time;
};

std::mutex mutex;
auto& watched = *new std::vector<Watched>;  ///< never destroyed: other threads may complete requests until the end

bool completes(P2p call) {
  switch (call) {
    case P2p::wait:
    case P2p::waitall:
    case P2p::waitany:
    case P2p::waitsome:
    case P2p::test:
    case P2p::testall:
    case P2p::testany:
    case P2p::testsome: return true;
    default: return false;
  }
}

/// A watched request in the call that a thread makes.
struct Present {
  int index;
  Watched one;
};
thread_local std::vector<Present> present;
thread_local double entered_s = 0;

void drop(const Watched& one) {
  const std::lock_guard lock(mutex);
  std::erase_if(watched, [&](const Watched& other) { return other.time == one.time; });
  watch_for(WatchReason::completion, !watched.empty());
}

class Completions final : public P2pRecorder {
 public:
  void before(const P2pCall& call) noexcept override {
    present.clear();
    if (call.call == P2p::request_free) return forget(*call.requests);
    if (!completes(call.call)) return;
    const std::lock_guard lock(mutex);
    for (int i = 0; i < call.request_count; ++i) {
      for (const Watched& one : watched) {
        if (one.request == call.requests[i]) present.push_back({i, one});
      }
    }
    if (!present.empty()) entered_s = now_s();
  }

  void after(const P2pCall& call, int) noexcept override {
    if (present.empty()) return;
    const double seconds = now_s() - entered_s;
    for (const Present& p : std::exchange(present, {})) {
      p.one.time->add_s(seconds);
      if (call.requests[p.index] == p.one.request) continue;
      p.one.time->complete();
      drop(p.one);
    }
  }

 private:
  /// Nobody will see the end of a request that the program frees.
  static void forget(MPI_Request request) {
    std::vector<Watched> gone;
    {
      const std::lock_guard lock(mutex);
      std::copy_if(watched.begin(), watched.end(), std::back_inserter(gone),
                   [&](const Watched& one) { return one.request == request; });
    }
    for (const Watched& one : gone) drop(one);
  }
};

Completions completions;

}  // namespace

void TimeLeft::add_s(double seconds) {
  constexpr double ns_per_s = 1e9;
  ns_.fetch_add(static_cast<std::int64_t>(ns_per_s * seconds), std::memory_order_relaxed);
}

std::shared_ptr<const TimeLeft> watch_completion(MPI_Request request, double began_s) {
  auto time = std::make_shared<TimeLeft>();
  time->add_s(now_s() - began_s);
  if (request == MPI_REQUEST_NULL) {
    time->complete();
    return time;
  }
  const std::lock_guard lock(mutex);
  // A handle that comes again belonged to a request that was completed unseen.
  std::erase_if(watched, [&](const Watched& one) { return one.request == request; });
  if (watched.size() >= most_watched) watched.erase(watched.begin());
  watched.push_back({request, time});
  set_p2p_recorder(WatchReason::completion, &completions);
  return time;
}

void forget_watched_requests() {
  const std::lock_guard lock(mutex);
  watched.clear();
  set_p2p_recorder(WatchReason::completion, nullptr);
}

}  // namespace antiphon::mpi
