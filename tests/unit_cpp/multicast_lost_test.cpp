// SPDX-License-Identifier: Apache-2.0
// Who counts as lost, on simulated networks: a member that answers nothing, but no living one.
#include <algorithm>

#include <doctest/doctest.h>

#include "multicast_network.hpp"

using namespace multicast_test;

namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Members that can be stopped all at once, as a job is by SIGSTOP.
class Job {
 public:
  static constexpr int size = 4;

  explicit Job(Strategy strategy) : network_(size, 1, {}) {
    Options options;
    options.strategy = strategy;
    options.lost_after_ns = second;
    const Description d = describe(size, options);
    for (int i = 0; i < size; ++i) {
      wires_.push_back(std::make_unique<NetworkWire>(network_, i));
      engines_.push_back(std::make_unique<Engine>(*wires_.back(), d, i, LocalOptions{}));
    }
  }

  void run(std::int64_t ns) {
    for (const std::int64_t end = network_.now() + ns; network_.now() < end;) {
      for (auto& engine : engines_) engine->progress();
      network_.advance(network_.now() + 100'000);
    }
  }
  void stop(std::int64_t ns) {
    for (const std::int64_t end = network_.now() + ns; network_.now() < end;) network_.advance(end);
  }
  void send() { engine(0).send(data_, {}); }
  void receive(int member) {
    const Part all{0, buffers_[static_cast<std::size_t>(member)]};
    engine(member).receive(0, static_cast<std::int64_t>(data_.size()), {&all, 1});
  }
  Engine& engine(int member) { return *engines_[static_cast<std::size_t>(member)]; }
  Network& network() { return network_; }
  [[nodiscard]] bool done() const {
    return std::all_of(engines_.begin(), engines_.end(),
                       [](const auto& e) { return e->drained() && !e->core().failure; });
  }

 private:
  Network network_;
  std::vector<std::unique_ptr<NetworkWire>> wires_;
  std::vector<std::unique_ptr<Engine>> engines_;
  Bytes data_ = Bytes(50'000);
  std::vector<Bytes> buffers_ = std::vector<Bytes>(size, data_);
};

}  // namespace

TEST_CASE("multicast: a job that was stopped as a whole goes on, whoever waits for whom") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    Job job(strategy);
    for (int i = 1; i < Job::size; ++i) job.receive(i);
    job.run(second / 2);
    job.stop(10 * second);
    job.run(second / 2);
    job.send();
    job.run(second / 10);
    CHECK(job.done());
    job.send();
    job.receive(1);
    job.run(second / 2);
    job.stop(10 * second);
    job.run(second / 2);
    for (int i = 2; i < Job::size; ++i) job.receive(i);
    job.run(second / 2);
    CHECK(job.done());
  }
}

TEST_CASE("multicast: a member that died while the job was stopped is lost") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    for (const int dead : {0, 3}) {
      Job job(strategy);
      for (int i = 1; i < Job::size; ++i) job.receive(i);
      if (dead != 0) job.send();
      job.network().kill(dead);
      job.stop(10 * second);
      job.run(second / 2);
      CHECK_FALSE(job.engine(1).core().failure);
      job.run(3 * second);
      REQUIRE(job.engine(1).core().failure);
      CHECK(job.engine(1).core().failure->member == dead);
    }
  }
}
