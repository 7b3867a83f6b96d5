// SPDX-License-Identifier: Apache-2.0
// Every point-to-point call goes through this file while a reason to watch exists.
//
// Without a reason (no compression, no trace, no operation, no timed request), p2p_watched() is one load, and the
// generated wrappers call the library. Higher rooms register here what they do with calls; this room knows none of
// them.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "call/p2p_calls.gen.hpp"

namespace antiphon::mpi {

/// Holds a call as the program made it, in one form for all bindings. Fields that a call does not have keep their
/// defaults. The pointers are the program's own, so P2pRecorder::after() sees what the call has written there.
struct P2pCall {
  P2p call;
  MPI_Comm comm = MPI_COMM_NULL;  ///< null for calls on requests and messages
  int peer = MPI_PROC_NULL;       ///< destination; the source for calls that only receive or probe
  int tag = 0;
  const void* buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int source = MPI_PROC_NULL;  ///< this and the next four: the receiving half of sendrecv and similar calls
  int recv_tag = 0;
  const void* recv_buffer = nullptr;
  std::int64_t recv_count = 0;
  MPI_Datatype recv_type = MPI_DATATYPE_NULL;
  const MPI_Message* message = nullptr;
  const int* flag = nullptr;
  const int* index = nullptr;
  const int* done = nullptr;  ///< waitsome, testsome: the number of valid `indices`
  const int* indices = nullptr;
  const MPI_Request* requests = nullptr;  ///< before(): the program's handles; after(): what is left of them
  int request_count = 0;
  const MPI_Status* statuses = nullptr;  ///< never MPI_STATUS(ES)_IGNORE: see StatusRoom
  mutable double began_s = 0;            ///< the trace's own
};

/// What looks at calls implements this. The thread that makes the call calls it. Calls of several threads overlap, and
/// a callback of the program may make calls within a call, or leave it by a jump: then after() does not come.
class P2pRecorder {
 public:
  virtual ~P2pRecorder() = default;
  virtual void before(const P2pCall& call) noexcept = 0;
  virtual void after(const P2pCall& call, int result) noexcept = 0;
};

/// Sees a call before the library does. True means that it has done the call, and `result` is what the MPI function
/// returns.
using P2pHandler = bool (*)(const P2pCall& call, int& result);

/// Names the reasons why wrappers must do more than call the library.
enum class WatchReason : std::uint8_t {
  trace = 1,
  operations = 2,
  framing = 4,
  completion = 8,
  capture = 16,
  order = 32,
  limited_time = 64
};
/// Those that have a recorder.
inline constexpr std::array recorded{WatchReason::trace, WatchReason::capture, WatchReason::completion,
                                     WatchReason::order, WatchReason::limited_time};
/// Those that have a handler. The first that does the call is the last that sees it.
inline constexpr std::array handled{WatchReason::order, WatchReason::operations};

namespace watching {
inline std::array<std::atomic<P2pRecorder*>, recorded.size()> recorders{};  ///< in the order of `recorded`
inline std::array<std::atomic<P2pHandler>, handled.size()> handlers{};      ///< in the order of `handled`
inline std::atomic<std::uint8_t> reasons{0};                                ///< one bit for each WatchReason
/// An MPI_Isend of so many bytes is a reason to watch (WatchReason::order), and what follows it until that is cleared.
inline std::atomic<std::int64_t> long_bytes{std::numeric_limits<std::int64_t>::max()};
inline std::atomic<bool> any_source{false};  ///< a receive from any rank was posted; whoever reads it clears it
bool is_long(std::int64_t count, MPI_Datatype type, std::int64_t bytes);
}  // namespace watching

/// Tells whether wrappers must do more than call the library. They see no call of the library's own, since those come
/// by PMPI_X (job/entry_points.hpp), but those of the program's callbacks within a watched call.
inline bool p2p_watched() { return watching::reasons.load(std::memory_order_relaxed) != 0; }

/// Sets or clears one reason to watch.
void watch_for(WatchReason reason, bool wanted);

/// Is called at each MPI_Isend.
inline void watch_long_send(std::int64_t count, MPI_Datatype type) {
  const std::int64_t bytes = watching::long_bytes.load(std::memory_order_relaxed);
  if (bytes == std::numeric_limits<std::int64_t>::max()) return;
  if (watching::is_long(count, type, bytes)) watch_for(WatchReason::order, true);
}
/// Is called at each MPI_Irecv.
inline void note_source(int source) {
  if (source == MPI_ANY_SOURCE) watching::any_source.store(true, std::memory_order_relaxed);
}

/// Shows every point-to-point call to this recorder from now on, for one of the reasons that have one; null stops that.
/// The recorder must outlive calls under way.
void set_p2p_recorder(WatchReason reason, P2pRecorder* recorder);

/// Shows calls to this handler and this recorder while an MPI_Isend of so many bytes is a reason to watch.
void watch_long_sends(std::int64_t bytes, P2pHandler handler, P2pRecorder* recorder);

/// Shows every point-to-point call to this handler from now on, for one of the reasons that have one; null stops that.
void set_p2p_handler(WatchReason reason, P2pHandler handler);

/// Provides the place for statuses: the program's own, or discarded room if the program ignores statuses.
class StatusRoom {
 public:
  StatusRoom(MPI_Status* wanted, int count) : statuses_(wanted) {
    if (wanted != MPI_STATUS_IGNORE && wanted != MPI_STATUSES_IGNORE) return;
    statuses_ = few_.data();
    if (count <= static_cast<int>(few_.size())) return;
    many_.resize(static_cast<std::size_t>(count));
    statuses_ = many_.data();
  }
  StatusRoom(const StatusRoom&) = delete;
  StatusRoom& operator=(const StatusRoom&) = delete;
  [[nodiscard]] MPI_Status* get() { return statuses_; }

 private:
  MPI_Status* statuses_;
  std::array<MPI_Status, 8> few_;
  std::vector<MPI_Status> many_;
};

/// Tells whether a handler has done the call.
inline bool handle(const P2pCall& call, int& result) {
  for (const std::atomic<P2pHandler>& one : watching::handlers) {
    const P2pHandler handler = one.load(std::memory_order_acquire);
    if (handler != nullptr && handler(call, result)) return true;
  }
  return false;
}

/// Runs a call, and shows it to the handlers and the recorders that exist.
template <class Run>
int watch(const P2pCall& call, Run&& run) {
  std::array<P2pRecorder*, recorded.size()> recorders;
  for (std::size_t i = 0; i < recorders.size(); ++i) {
    recorders[i] = watching::recorders[i].load(std::memory_order_acquire);
    if (recorders[i] != nullptr) recorders[i]->before(call);
  }
  int result = MPI_SUCCESS;
  if (!handle(call, result)) result = run();
  for (std::size_t i = recorders.size(); i-- > 0;) {
    if (recorders[i] != nullptr) recorders[i]->after(call, result);
  }
  return result;
}

}  // namespace antiphon::mpi
