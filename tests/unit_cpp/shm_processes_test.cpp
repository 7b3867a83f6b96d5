// SPDX-License-Identifier: Apache-2.0
// Processes that share memory: how they find it, that a killed one is missed, and what is left.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "shm/messenger.hpp"
#include "shm/process.hpp"
#include "shm/segment.hpp"

using namespace antiphon;

namespace {

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// One number on its way to or from another rank.
struct Number {
  std::int64_t value;
  shm::Transfer transfer;

  Number(int peer, std::int64_t of) : value(of) {
    transfer.peer = peer;
    transfer.at = reinterpret_cast<std::byte*>(&value);
    transfer.bytes = sizeof value;
  }
};

/// Rank 1: adds one to the number that rank 0 sends, sends it back, and stays.
[[noreturn]] void answer(const shm::SegmentAddress& address, const shm::Layout& layout, pid_t parent) {
  const shm::Segment mapped = shm::Segment::open(address, layout.bytes(), layout.ranks);
  if (mapped.empty()) _exit(1);
  shm::Messenger messenger(mapped.memory(), layout, {1, SIZE_MAX, {parent, getpid()}});
  Number number(0, 0);
  messenger.receive(number.transfer);
  while (!number.transfer.done) messenger.look();
  ++number.value;
  messenger.send(number.transfer);
  while (true) pause();
}

/// Rank 0: speaks with the other process until that is killed.
void speak_with(pid_t child, const shm::Segment& segment, const shm::Layout& layout) {
  shm::Messenger messenger(segment.memory(), layout, {0, SIZE_MAX, {getpid(), child}});
  Number number(1, 100);
  messenger.send(number.transfer);
  messenger.receive(number.transfer);
  while (!number.transfer.done && waitpid(child, nullptr, WNOHANG) == 0) messenger.look();
  CHECK(number.value == 101);
  messenger.receive(number.transfer);
  messenger.look_for_lost_ranks();
  CHECK(!messenger.failed());
  kill(child, SIGKILL);
  while (shm::is_alive(child)) std::this_thread::yield();  // also while it is a zombie
  messenger.look_for_lost_ranks();
  CHECK(messenger.failed());
  CHECK(!messenger.mismatch());
  messenger.abandon();
  CHECK(waitpid(child, nullptr, 0) == child);
}

}  // namespace

TEST_CASE("shm: another process maps the segment, is missed when it is killed, and nothing is left") {
  const std::size_t files_before = open_files();
  {
    const shm::Layout layout = shm::Layout::for_ranks(2);
    shm::Segment segment = shm::Segment::make(layout.bytes(), layout.ranks);
    REQUIRE(!segment.empty());
    const shm::SegmentAddress address = segment.address();
    const pid_t parent = getpid();
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) answer(address, layout, parent);
    speak_with(child, segment, layout);
    segment.close_file();
    CHECK(shm::Segment::open(address, layout.bytes(), layout.ranks).empty());
  }
  CHECK(open_files() == files_before);
}

TEST_CASE("shm: only a segment is opened") {
  const shm::Segment segment = shm::Segment::make(4096, 1);
  REQUIRE(!segment.empty());
  shm::SegmentAddress address = segment.address();
  CHECK(!shm::Segment::open(address, 4096, 1).empty());
  CHECK(shm::Segment::open(address, 8192, 1).empty());
  ++address.number;
  CHECK(shm::Segment::open(address, 4096, 1).empty());
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK(shm::Segment::open({getpid(), ends[0], 0}, 4096, 1).empty());
  close(ends[0]);
  close(ends[1]);
  std::uint64_t value = 0;
  CHECK(!shm::read_memory(getpid(), 0, &value, sizeof value));
}

TEST_CASE("shm: where files may not be that large, there is no segment, and the process lives") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit{4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    _exit(shm::Segment::make(8192, 1).empty() && !shm::Segment::make(4096, 1).empty() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("shm: a process has its part of no more segments than it may, until some are gone") {
  constexpr std::size_t bytes = shm::Segment::most_bytes_a_process;
  {
    shm::Segment half = shm::Segment::make(bytes, 2);
    REQUIRE(!half.empty());
    const shm::Segment moved = std::move(half);
    const shm::Segment opened = shm::Segment::open(moved.address(), bytes, 2);
    REQUIRE(!opened.empty());
    CHECK(shm::Segment::make(4096, 1).empty());
    CHECK(shm::Segment::open(moved.address(), bytes, 2).empty());
  }
  CHECK(!shm::Segment::make(bytes, 1).empty());
  CHECK(shm::Segment::make(2 * bytes, 1).empty());
}

TEST_CASE("as few readers as possible are let in: all that a common parent started, or all of the user's") {
  CHECK(shm::readers_among({7, 7, 7}) == shm::Readers::siblings);
  CHECK(shm::readers_among({7, 8, 7}) == shm::Readers::user);
  CHECK(shm::readers_among({0, 0}) == shm::Readers::user);
  const std::filesystem::path root = std::filesystem::temp_directory_path() / ("yama-" + std::to_string(getpid()));
  CHECK_FALSE(shm::can_let_in_more(root.string()));
  std::filesystem::create_directories(root / "proc/sys/kernel/yama");
  const auto may_with = [&](const char* scope) {
    std::ofstream(root / "proc/sys/kernel/yama/ptrace_scope") << scope << '\n';
    return shm::can_let_in_more(root.string());
  };
  CHECK(may_with("1"));
  for (const char* other : {"0", "2", "3"}) CHECK_FALSE(may_with(other));
  std::filesystem::remove_all(root);
}
