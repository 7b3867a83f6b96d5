// SPDX-License-Identifier: Apache-2.0
// A thread's last calls that are the library's whenever they come. To look at such a call again would touch some thirty
// functions and what is known of its communicator, its type and its size; between a program's computations, none of
// that is in a processor's caches.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "call/call.hpp"
#include "call/description.hpp"
#include "entry/decisions.hpp"
#include "entry/forget_passed.hpp"
#include "job/progress.hpp"

namespace antiphon::mpi {
class CommState;
}

namespace antiphon::mpi::passed_calls {

/// Holds what a call must have in common with one that was passed on. A decision depends on nothing else where counts
/// are the same for all ranks, and the type and the operation are the standard's, which no program frees.
struct Key {
  Collective collective;
  bool nonblocking;
  bool sends_in_place;
  bool receives_in_place;
  int root;
  MPI_Comm comm;
  MPI_Datatype sendtype;
  MPI_Datatype recvtype;
  MPI_Op op;
  std::int64_t sendcount;
  std::int64_t recvcount;
  bool operator==(const Key&) const = default;
};

inline Key key_of(const Call& call) {
  // The root of a gather or a scatter says which arguments have a meaning.
  const bool any_root = call.collective == Collective::bcast || call.collective == Collective::reduce;
  return {call.collective,
          call.nonblocking,
          call.sendbuf == MPI_IN_PLACE,
          call.recvbuf == MPI_IN_PLACE,
          any_root ? 0 : call.root,
          call.comm,
          call.sendtype,
          call.recvtype,
          call.op,
          call.sendcount,
          call.recvcount};
}

namespace detail {
struct Passed {
  std::uint32_t generation = 0;  ///< of what was known when the call was passed on
  bool moves_data = false;
  Key key{};
  Decisions* decisions = nullptr;
  Evidence* evidence = nullptr;  ///< counts the calls, if there is any
};
constexpr int slot_bits = 3;
using Slots = std::array<Passed, std::size_t{1} << slot_bits>;
inline constinit thread_local Slots slots [[gnu::tls_model("initial-exec")]] = {};

inline Passed& slot_of(const Key& key) {
  const auto counts = static_cast<std::uint64_t>(3 * key.sendcount + key.recvcount);
  const auto kind = 2 * static_cast<std::uint64_t>(key.collective) + (key.nonblocking ? 1 : 0);
  const std::uint64_t mixed = std::hash<MPI_Comm>{}(key.comm) + 63 * counts + kind;
  return slots[mixed * 0x9E3779B97F4A7C15 >> (64 - slot_bits)];
}
}  // namespace detail

/// Tells whether the call is known to be the library's, and then notes all that looking at it would.
inline bool again(const Call& call) {
  const Key key = key_of(call);
  const detail::Passed& known = detail::slot_of(key);
  if (known.generation != generation.load(std::memory_order_relaxed) || known.key != key) return false;
  if (known.evidence != nullptr && !known.evidence->pass()) return false;
  known.decisions->note(call.collective, library_text);
  if (known.moves_data) note_messages();
  return true;
}

/// Remembers this call, whose decision has just been made and is the library, if that stands for all calls with its key
/// until forget() (forget_passed.hpp).
void remember(const Description& d, CommState& state);

}  // namespace antiphon::mpi::passed_calls
