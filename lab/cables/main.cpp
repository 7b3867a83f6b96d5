// SPDX-License-Identifier: Apache-2.0
// Carries packets between the tap interfaces of a lab, which holds their descriptors open: what the kernel has no queue
// for. The plan (plan.hpp) comes on standard input. It runs until it is killed.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cables/plan.hpp"

using namespace antiphon::cables;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

std::runtime_error system_error(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
}

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second_ns + time.tv_nsec;
}

std::string all_input() {
  std::string text;
  std::array<char, 65536> part{};
  ssize_t got = 0;
  while ((got = read(STDIN_FILENO, part.data(), part.size())) > 0)
    text.append(part.data(), static_cast<std::size_t>(got));
  return text;
}

class Cables {
 public:
  explicit Cables(Plan plan)
      : plan_(std::move(plan)), epoll_(epoll_create1(EPOLL_CLOEXEC)),
        timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (epoll_ < 0 || timer_ < 0) throw system_error("no timer");
    for (const std::int64_t bytes : plan_.pools_bytes) pools_.push_back(std::make_unique<Pool>(Pool{bytes}));
    for (const Direction& one : plan_.directions) {
      queues_.emplace_back(one.terms, one.pool ? pools_[*one.pool].get() : nullptr);
      if (fcntl(one.from, F_SETFL, O_NONBLOCK) < 0) throw system_error(one.name);
      watch(one.from, queues_.size() - 1);
    }
    watch(timer_, plan_.directions.size());
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 64> events{};
    while (true) {
      const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      if (count < 0 && errno != EINTR) throw system_error("epoll");
      for (int i = 0; i < count; ++i) take(events[static_cast<std::size_t>(i)].data.u64);
      if (counts_due_ns_ <= now_ns()) write_counts();
      deliver();
    }
  }

 private:
  void watch(int descriptor, std::size_t number) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) < 0) throw system_error("epoll");
  }

  /// Takes what has come to a direction; some packets only, so that the others get their turn.
  void take(std::size_t number) {
    if (number == queues_.size()) {
      std::uint64_t expired = 0;
      static_cast<void>(!read(timer_, &expired, sizeof expired));
      return;
    }
    constexpr int most_packets = 16;
    for (int i = 0; i < most_packets; ++i) {
      const ssize_t got = read(plan_.directions[number].from, buffer_.data(), buffer_.size());
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      // An interface whose namespace has ended gives EBADFD: the lab is being taken down.
      if (got <= 0) throw system_error(plan_.directions[number].name);
      if (static_cast<std::size_t>(got) <= header_bytes) continue;
      queues_[number].arrive(Packet({buffer_.data(), static_cast<std::size_t>(got)}), now_ns());
      if (counts_due_ns_ == Queue::never) counts_due_ns_ = now_ns() + second_ns;
    }
  }

  /// Hands over what has reached the other end, and sets the timer for what comes next.
  void deliver() {
    std::int64_t due = counts_due_ns_;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      while (const auto packet = queues_[i].leave(now_ns())) {
        // An interface that is down takes no packets, as a real one.
        const auto data = packet->data();
        static_cast<void>(!write(plan_.directions[i].to, data.data(), data.size()));
      }
      due = std::min(due, queues_[i].due_ns());
    }
    if (due == set_for_ns_) return;
    set_for_ns_ = due;
    itimerspec when{};
    if (due != Queue::never) when.it_value = {.tv_sec = due / second_ns, .tv_nsec = due % second_ns};
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  /// Writes a line for each direction: name, packets sent, dropped, marked, longest queue in bytes.
  void write_counts() {
    counts_due_ns_ = Queue::never;
    if (plan_.counts_file.empty()) return;
    const std::string fresh = plan_.counts_file + ".new";
    std::FILE* const file = std::fopen(fresh.c_str(), "we");
    if (file == nullptr) return;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      const Counts& c = queues_[i].counts();
      std::fprintf(file, "%s %lld %lld %lld %lld\n", plan_.directions[i].name.c_str(), static_cast<long long>(c.sent),
                   static_cast<long long>(c.dropped), static_cast<long long>(c.marked),
                   static_cast<long long>(c.longest_bytes));
    }
    const bool written = std::ferror(file) == 0;
    if (std::fclose(file) == 0 && written) static_cast<void>(std::rename(fresh.c_str(), plan_.counts_file.c_str()));
  }

  Plan plan_;
  int epoll_, timer_;
  std::int64_t set_for_ns_ = Queue::never;
  std::int64_t counts_due_ns_ = Queue::never;  ///< packets have come since they were written
  std::vector<std::unique_ptr<Pool>> pools_;
  std::vector<Queue> queues_;
  std::array<std::byte, longest_bytes> buffer_;
};

}  // namespace

int main() {
  try {
    Cables(Plan::parse(all_input())).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "antiphon-lab-cables: %s\n", error.what());
    return 1;
  }
}
