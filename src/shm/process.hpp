// SPDX-License-Identifier: Apache-2.0
// What one process may know of and read from another.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace antiphon::shm {

/// Copies from another process's memory. Returns false if that is not allowed, or not all of it is there.
bool read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes);

/// Tells whether a process has not ended.
bool is_alive(pid_t process);

}  // namespace antiphon::shm
