// SPDX-License-Identifier: Apache-2.0
// One thread for all groups of the process. It sleeps while their owners make progress themselves.
#include "multicast/keeper.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <system_error>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "multicast/address.hpp"
#include "threads/without_signals.hpp"

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
    if (process_ != ::getpid()) start();
    tasks_.push_back(task);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);  // a full counter wakes it up as well
  }

 private:
  /// Starts the thread, also in the child of a fork, which inherits no threads.
  void start() {
    const int wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake < 0) throw NetworkError(system_reason("eventfd"));
    try {
      start_without_signals([this, wake] { run(wake); }).detach();
    } catch (const std::system_error& e) {
      ::close(wake);
      throw NetworkError(std::string("no thread to keep multicast groups: ") + e.what());
    }
    wake_ = wake;
    process_ = ::getpid();
  }

  void run(int wake) {
    pthread_setname_np(pthread_self(), "antiphon-keep");
    std::vector<pollfd> sockets;
    for (;;) {
      sockets.assign(1, pollfd{wake, POLLIN, 0});
      const std::int64_t wait = look(sockets);
      const timespec most{static_cast<time_t>(wait / 1'000'000'000), static_cast<long>(wait % 1'000'000'000)};
      ::ppoll(sockets.data(), sockets.size(), wait == never_ns ? nullptr : &most, nullptr);
      std::uint64_t woken = 0;
      [[maybe_unused]] const auto got = ::read(wake, &woken, sizeof woken);
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
