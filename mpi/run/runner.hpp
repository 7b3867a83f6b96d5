// SPDX-License-Identifier: Apache-2.0
// A Runner runs something on a communicator: begin it, advance it until it is done, or wait for it.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "antiphon/codec.hpp"
#include "antiphon/schedule.hpp"
#include "run/waiting.hpp"

namespace antiphon::mpi {

/// Says where the data of one run are, and what their bytes mean.
struct Binding {
  /// The index is a Space. Runners count packed bytes. If elements have gaps (a reduction's type), packed offset n ×
  /// size_bytes is memory offset n × extent_bytes.
  std::array<std::byte*, 3> base{};
  MPI_Datatype type = MPI_BYTE;  ///< unit of messages, and of reductions
  std::int64_t size_bytes = 1;
  std::int64_t extent_bytes = 1;
  MPI_Op op = MPI_OP_NULL;
  codec::Element element = codec::Element::unknown;  ///< what encode operations may expect
  std::int64_t stream = 0;                           ///< encode operations share their plans within a stream

  [[nodiscard]] bool has_gaps() const { return size_bytes != extent_bytes; }
  [[nodiscard]] std::byte* at(Space space) const { return base[static_cast<std::size_t>(space)]; }
  [[nodiscard]] std::byte* address(const Range& range) const {
    if (!has_gaps()) return at(range.space) + range.offset_bytes;
    return at(range.space) + range.offset_bytes / size_bytes * extent_bytes;
  }
};

/// Runs something on one communicator, again and again, without allocating. All its state is in the object: any number
/// of runners may be under way at once, and any thread may advance them, but only one thread at a time each.
///
///     int rc = runner.begin(binding);                                    // all calls return MPI error codes
///     while (rc == MPI_SUCCESS && !runner.done()) rc = runner.advance();   // beside other work
///
/// Use this loop, or run(), which waits. After an error a runner must not be advanced.
class Runner {
 public:
  explicit Runner(Yields yields) : yields_(yields) {}
  virtual ~Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Returns the size of the scratch space that the binding needs.
  [[nodiscard]] virtual std::int64_t scratch_bytes() const = 0;
  /// Starts what can be started. The binding and its data must stay until done().
  virtual int begin(const Binding& binding) = 0;
  [[nodiscard]] virtual bool done() const = 0;
  /// Tells whether messages are under way. After an error they may still use the binding's data, which must stay; the
  /// runner can begin again with other data.
  [[nodiscard]] virtual bool any_under_way() const = 0;

  /// Advances as far as it can without waiting.
  int advance() {
    Waiting never = Waiting::never();
    return go_on(never);
  }

  /// Advances until it is done.
  int wait() {
    Waiting waiting(yields_);
    int rc = MPI_SUCCESS;
    while (rc == MPI_SUCCESS && !done()) {
      rc = go_on(waiting);
      if (rc == MPI_SUCCESS && !done()) waiting.pause();
    }
    return rc;
  }

  int run(const Binding& binding) {
    const int rc = begin(binding);
    return rc == MPI_SUCCESS ? wait() : rc;
  }

 protected:
  /// Advances until nothing moves or all is done. `waiting` says whether and how it may wait for a move.
  virtual int go_on(Waiting& waiting) = 0;

 private:
  Yields yields_;
};

}  // namespace antiphon::mpi
