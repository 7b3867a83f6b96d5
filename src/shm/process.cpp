// SPDX-License-Identifier: Apache-2.0
#include "shm/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <string>
#include <string_view>

#include "antiphon/text.hpp"

namespace antiphon::shm {

bool read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes) {
  while (bytes > 0) {
    const iovec local{to, bytes};
    const iovec remote{std::bit_cast<void*>(static_cast<std::uintptr_t>(address)), bytes};
    const ssize_t got = process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to = static_cast<std::byte*>(to) + got;
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

namespace {

/// The system keeps one such permission for each process, and tells nobody.
std::atomic<Readers> readers_of_this_process{Readers::ancestors};

/// Tells whether a process has ended and its parent has not asked for its status.
bool is_zombie(pid_t process) {
  const int file = open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 256> text{};
  const ssize_t length = read(file, text.data(), text.size());
  close(file);
  // The state follows the command's name, which may hold anything, in parentheses.
  const std::string_view stat(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t end = stat.rfind(')');
  return end != std::string_view::npos && end + 2 < stat.size() && (stat[end + 2] == 'Z' || stat[end + 2] == 'X');
}

}  // namespace

bool can_let_in_more(const std::string& root) {
  return readers_of_this_process != Readers::user &&
         first_line_of(root + "/proc/sys/kernel/yama/ptrace_scope").starts_with('1');
}

Readers readers_among(const std::vector<pid_t>& parents) {
  const auto other = [&](pid_t parent) { return parent == 0 || parent != parents.front(); };
  return std::any_of(parents.begin(), parents.end(), other) ? Readers::user : Readers::siblings;
}

void let_in(Readers readers) {
  if (readers <= readers_of_this_process) return;
  const unsigned long whom = readers == Readers::user ? PR_SET_PTRACER_ANY : static_cast<unsigned long>(getppid());
  if (prctl(PR_SET_PTRACER, whom, 0UL, 0UL, 0UL) == 0) readers_of_this_process = readers;
}

bool is_alive(pid_t process) {
  if (kill(process, 0) != 0 && errno == ESRCH) return false;
  return !is_zombie(process);
}

}  // namespace antiphon::shm
