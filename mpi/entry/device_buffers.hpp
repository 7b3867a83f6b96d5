// SPDX-License-Identifier: Apache-2.0
// Calls with buffers in a GPU's memory are the library's, which knows how to move such data. That is agreed on from
// time to time; until then, ranks with such buffers work on copies, so that no choice depends on what one rank alone
// knows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "call/description.hpp"
#include "entry/library_collectives.hpp"

namespace antiphon::mpi {

/// Copies of a call's buffers that the processor can use. Without buffers in a GPU's memory it does nothing.
class DeviceBuffers {
 public:
  /// Looks where the description's buffers are. The description must outlive this object.
  explicit DeviceBuffers(Description& d);
  [[nodiscard]] bool any() const { return on_device_; }
  /// Makes the description use copies. Returns an MPI error code.
  int fetch();
  /// Copies what the call has changed to the program's buffers, and makes the description use those again.
  int put_back();

 private:
  struct Copy {
    Side* side = nullptr;
    std::byte* original = nullptr;
    std::int64_t low_bytes = 0, high_bytes = 0;  ///< from the original, where the side's data lies
    std::shared_ptr<std::byte[]> memory;
  };
  void note(Side& side, bool is_output);

  Description& d_;
  bool on_device_ = false;
  std::array<Copy, 2> copies_;
};

/// Knows of each collective on one communicator whether its buffers are in a GPU's memory.
class DeviceAgreement {
 public:
  /// Tells whether this call must be left to the library, alike on all ranks. `here` says whether this rank's buffers
  /// are in a GPU's memory. The ranks ask each other at the calls 1, 2, 4, 8, …
  bool leaves(Collective collective, bool here, const LibraryCollectives& library);

 private:
  struct State {
    std::int64_t calls = 0;
    std::int64_t next = 1;
    bool seen = false;
    bool leaves = false;
  };
  std::array<State, collective_count> of_;
};

/// Tells whether some rank's buffers are in a GPU's memory; collective.
bool any_rank_has(bool here, const LibraryCollectives& library);

}  // namespace antiphon::mpi
