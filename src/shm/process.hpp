// SPDX-License-Identifier: Apache-2.0
// What one process may know of and read from another.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace antiphon::shm {

/// Copies from another process's memory. Returns false if that is not allowed, or not all of it is there.
bool read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes);

/// Whom Yama lets read a process's memory, each with those before: its ancestors, all that its parent started, directly
/// or not, and all processes of its user.
enum class Readers : std::int32_t { ancestors, siblings, user };

/// Tells whether this process can let more of them in than it does (ptrace_scope 1). `root` is empty, or a directory in
/// which tests have a proc/ of their own.
bool can_let_in_more(const std::string& root);

/// Returns the fewest readers that processes with these parents need to read each other.
Readers readers_among(const std::vector<pid_t>& parents);

/// Lets them read this process's memory from now on. Those whom it has let in before stay so.
void let_in(Readers readers);

/// Tells whether a process has not ended.
bool is_alive(pid_t process);

}  // namespace antiphon::shm
