// SPDX-License-Identifier: Apache-2.0
// Members that go through the messages of a scenario on a simulated network, and the run of all members.
#pragma once

#include <algorithm>

#include <doctest/doctest.h>

#include "multicast_network.hpp"

namespace multicast_test {

struct Message {
  int sender;
  std::size_t bytes;
};

struct Scenario {
  int size = 2;
  std::uint64_t seed = 1;
  Conditions conditions;
  Options options;
  std::vector<Message> messages;
  bool copy = false;
  int concurrent = 1;
  std::int64_t late_ns = 0;  ///< most that members come late to a message
  bool one_by_one = false;   ///< a member starts the next message only when the one before is done
};

/// A member that goes through the messages as a program would.
class Member {
 public:
  Member(Network& network, const Description& description, int index, const Scenario& scenario)
      : network_(network), wire_(network, index), engine_(wire_, description, index, LocalOptions{}), index_(index),
        scenario_(scenario) {
    std::vector<std::size_t> count(static_cast<std::size_t>(scenario.size), 0);
    for (const Message& message : scenario.messages) {
      Bytes bytes(message.bytes, std::byte{0xEE});
      const std::size_t which = count[static_cast<std::size_t>(message.sender)]++;
      numbers_.push_back(which);
      if (message.sender == index) {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_of(message.sender, which, i);
      }
      buffers_.push_back(std::move(bytes));
    }
  }

  bool progress() {
    bool any = false;
    while (next_ < buffers_.size() && network_.now() >= ready_ns_ &&
           (!scenario_.one_by_one || tickets_.empty() || engine_.done(tickets_.back()))) {
      post();
      any = true;
    }
    return engine_.progress() || any;
  }

  void post() {
    const Message& message = scenario_.messages[next_];
    Bytes& buffer = buffers_[next_++];
    if (message.sender == index_) {
      tickets_.push_back(engine_.send(buffer, {.copy = scenario_.copy, .concurrent = scenario_.concurrent}));
    } else {
      const Part all{0, buffer};
      tickets_.push_back(engine_.receive(message.sender, static_cast<std::int64_t>(buffer.size()), {&all, 1}));
    }
    if (scenario_.late_ns > 0)
      ready_ns_ =
          network_.now() + static_cast<std::int64_t>(network_.random(static_cast<std::uint64_t>(scenario_.late_ns)));
  }

  [[nodiscard]] bool finished() const {
    return next_ == buffers_.size() && engine_.drained() &&
           std::all_of(tickets_.begin(), tickets_.end(), [&](const Ticket& t) { return engine_.done(t); });
  }
  [[nodiscard]] std::int64_t due() const {
    return next_ < buffers_.size() && ready_ns_ > network_.now() ? std::min(ready_ns_, engine_.due_ns())
                                                                 : engine_.due_ns();
  }
  [[nodiscard]] std::size_t wrong_bytes() const {
    std::size_t wrong = 0;
    for (std::size_t m = 0; m < buffers_.size(); ++m) {
      for (std::size_t i = 0; i < buffers_[m].size(); ++i)
        wrong += buffers_[m][i] != byte_of(scenario_.messages[m].sender, numbers_[m], i);
    }
    return wrong;
  }
  Engine& engine() { return engine_; }

 private:
  Network& network_;
  NetworkWire wire_;
  Engine engine_;
  int index_;
  const Scenario& scenario_;
  std::vector<Bytes> buffers_;
  std::vector<std::size_t> numbers_;  ///< by message: its number among its sender's
  std::vector<Ticket> tickets_;
  std::size_t next_ = 0;
  std::int64_t ready_ns_ = 0;
};

class Run {
 public:
  explicit Run(const Scenario& scenario)
      : scenario_(scenario), network_(scenario.size, scenario.seed, scenario.conditions) {
    const Description description = describe(scenario.size, scenario.options);
    for (int i = 0; i < scenario.size; ++i)
      members_.push_back(std::make_unique<Member>(network_, description, i, scenario_));
  }

  /// Runs until all have finished or failed, for at most `most_ns` of virtual time.
  template <typename Stop>
  bool until(Stop stop, std::int64_t most_ns) {
    const std::int64_t end = network_.now() + most_ns;
    std::vector<int> order;
    for (int i = 0; i < scenario_.size; ++i) order.push_back(i);
    while (network_.now() < end) {
      if (stop()) return true;
      bool any = false;
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[network_.random(i)]);
      for (const int i : order) any = (!asleep(i) && member(i).progress()) || any;
      std::int64_t due = network_.now() + 1'000'000;
      for (const int i : order) {
        if (!asleep(i)) due = std::min(due, member(i).due());
      }
      network_.advance(any ? network_.now() + 1'000 : std::max(due, network_.now() + 1'000));
    }
    return stop();
  }
  bool finish(std::int64_t most_ns = 60'000'000'000) {
    return until(
        [&] { return std::all_of(members_.begin(), members_.end(), [](const auto& m) { return m->finished(); }); },
        most_ns);
  }
  void check() {
    REQUIRE_MESSAGE(finish(), "not finished: ", scenario_.size, " members, seed ", scenario_.seed, ", loss ",
                    scenario_.conditions.loss);
    for (const auto& m : members_) REQUIRE(m->wrong_bytes() == 0);
  }

  Member& member(int i) { return *members_[static_cast<std::size_t>(i)]; }
  Network& network() { return network_; }
  std::vector<bool> asleep_;
  [[nodiscard]] bool asleep(int i) const {
    return static_cast<std::size_t>(i) < asleep_.size() && asleep_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] Statistics total() {
    Statistics sum;
    for (const auto& m : members_) {
      const Statistics s = m->engine().statistics();
      sum.data_sent += s.data_sent;
      sum.repairs_unicast += s.repairs_unicast;
      sum.repairs_multicast += s.repairs_multicast;
      sum.nacks_sent += s.nacks_sent;
      sum.acks_received += s.acks_received;
      sum.duplicates += s.duplicates;
      sum.forged += s.forged;
      sum.replayed += s.replayed;
      sum.early_held += s.early_held;
      sum.foreign += s.foreign;
      sum.malformed += s.malformed;
      sum.rejoined += s.rejoined;
    }
    return sum;
  }

 private:
  Scenario scenario_;
  Network network_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace multicast_test
