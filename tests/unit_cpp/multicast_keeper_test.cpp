// SPDX-License-Identifier: Apache-2.0
// Where the system gives no thread for the keeper: nothing is left of the attempt, and a later one succeeds.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>

#include <doctest/doctest.h>
#include <pthread.h>

#include "antiphon/multicast.hpp"

using namespace antiphon::multicast;

namespace {

int entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<int>(std::distance(begin(all), end(all)));
}

std::unique_ptr<Group> open_group() {
  std::vector<Endpoint> endpoints;
  std::vector<Place> places;
  for (int i = 0; i < 2; ++i) {
    endpoints.push_back(Endpoint::open(local_addresses("lo", 1).at(0)));
    places.push_back(endpoints.back().place());
  }
  return std::make_unique<Group>(Description::create(places), 0, std::move(endpoints[0]));
}

/// New threads get stacks of this size.
void set_stack_bytes(std::size_t bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

bool signals_are_open() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, SIGTERM) == 0;
}

/// Returns the number of the first expectation that does not hold, or 0.
int try_without_and_with_threads() {
  const int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  set_stack_bytes(std::size_t{1} << 60);
  try {
    open_group();
    return 1;
  } catch (const NetworkError&) {
  } catch (...) {
    return 6;
  }
  if (!signals_are_open()) return 2;
  if (entries("/proc/self/fd") != files) return 3;
  set_stack_bytes(std::size_t{1} << 20);
  const auto group = open_group();
  if (entries("/proc/self/task") != threads + 1) return 4;
  return signals_are_open() ? 0 : 5;
}

}  // namespace

TEST_CASE("multicast: where no thread can be had, signals reach the program, and later groups have a keeper") {
  const pid_t child = fork();  // this process may have a keeper already
  REQUIRE(child >= 0);
  if (child == 0) _exit(try_without_and_with_threads());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
