// SPDX-License-Identifier: Apache-2.0
// One thread for all groups of the process. It sleeps while their owners make progress themselves.
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

/// How often the keeper checks a group whose owner is active. Other members wait at most this long for an answer after
/// the owner has turned to other work.
constexpr std::int64_t nap_ns = 2'000'000;
/// How long the keeper sleeps when nothing is due. Packets wake it up earlier.
constexpr std::int64_t rest_ns = 500'000'000;
constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

class Keeper {
 public:
  void add(const std::shared_ptr<BackgroundTask>& task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
    if (process_ != ::getpid()) start();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);  // a full counter wakes it up as well
  }

 private:
  /// Starts the thread, also in the child of a fork, which inherits no threads.
  void start() {
    process_ = ::getpid();
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    // The program's threads handle the program's signals, so this thread blocks them all.
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

  /// Serves all live groups and returns how long to sleep. Holds no group while it sleeps.
  std::int64_t look(std::vector<pollfd>& sockets) {
    std::vector<std::shared_ptr<BackgroundTask>> all;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(tasks_, [](const auto& task) { return task.expired(); });
      for (const auto& task : tasks_) {
        if (auto alive = task.lock()) all.push_back(std::move(alive));
      }
    }
    std::int64_t wait = all.empty() ? never_ns : rest_ns;
    for (const auto& task : all) {
      const BackgroundTask::Look look = task->look();
      wait = std::min(wait, look.owner_away ? look.wait_ns : nap_ns);
      if (!look.owner_away) continue;
      for (const int socket : look.sockets) sockets.push_back({socket, POLLIN, 0});
    }
    return wait;
  }

  std::mutex mutex_;
  std::vector<std::weak_ptr<BackgroundTask>> tasks_;
  pid_t process_ = 0;
  int wake_ = -1;
};

}  // namespace

void keep(const std::shared_ptr<BackgroundTask>& task) {
  // The keeper is never destroyed because its thread runs until the process ends.
  static auto* keeper = new Keeper;
  keeper->add(task);
}

}  // namespace antiphon::multicast
