// SPDX-License-Identifier: Apache-2.0
// One thread for all groups of the process, which sleeps while their owners are at work.
#include "multicast/keeper.hpp"

#include <algorithm>
#include <csignal>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace antiphon::multicast {

namespace {

/// How often an owner that is there is looked at. It is the longest that the others wait for an answer from a member
/// that has just left.
constexpr std::int64_t nap_ns = 2'000'000;
/// With nothing due: packets wake it up anyway.
constexpr std::int64_t rest_ns = 500'000'000;
constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

class Keeper {
 public:
  void add(const std::shared_ptr<Kept>& kept) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(kept);
    if (process_ != ::getpid()) start();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);  // a full counter wakes it up as well
  }

 private:
  /// Also in the child of a fork, which has none of its parent's threads.
  void start() {
    process_ = ::getpid();
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    // The program's signals are for the program's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    pthread_setname_np(pthread_self(), "antiphon-keep");
    std::vector<pollfd> sockets;
    for (;;) {
      sockets.assign(1, pollfd{wake_, POLLIN, 0});
      const std::int64_t wait = look(sockets);
      const timespec most{static_cast<time_t>(wait / 1'000'000'000), static_cast<long>(wait % 1'000'000'000)};
      ::ppoll(sockets.data(), sockets.size(), wait == never_ns ? nullptr : &most, nullptr);
      std::uint64_t woken = 0;
      [[maybe_unused]] const auto got = ::read(wake_, &woken, sizeof woken);
    }
  }

  /// Looks after all that still are; how long to sleep then. Holds none of them while it sleeps.
  std::int64_t look(std::vector<pollfd>& sockets) {
    std::vector<std::shared_ptr<Kept>> all;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(kept_, [](const auto& kept) { return kept.expired(); });
      for (const auto& kept : kept_) {
        if (auto alive = kept.lock()) all.push_back(std::move(alive));
      }
    }
    std::int64_t wait = all.empty() ? never_ns : rest_ns;
    for (const auto& kept : all) {
      const Kept::Look look = kept->look();
      wait = std::min(wait, look.owner_away ? look.wait_ns : nap_ns);
      if (!look.owner_away) continue;
      for (const int socket : look.sockets) sockets.push_back({socket, POLLIN, 0});
    }
    return wait;
  }

  std::mutex mutex_;
  std::vector<std::weak_ptr<Kept>> kept_;
  pid_t process_ = 0;
  int wake_ = -1;
};

}  // namespace

void keep(const std::shared_ptr<Kept>& kept) {
  // Never destroyed: its thread runs until the process ends.
  static auto* keeper = new Keeper;
  keeper->add(kept);
}

}  // namespace antiphon::multicast
