// SPDX-License-Identifier: Apache-2.0
// Messages through shared memory: rings, both ways of moving data, any order of tags, many threads. The thread
// sanitizer runs this too.
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "shm/messenger.hpp"
#include "shm_node.hpp"

using namespace antiphon;

namespace {

/// One end of a message, with its own memory.
struct End {
  std::vector<std::byte> data;
  shm::Transfer transfer;

  End(int peer, int tag, std::size_t bytes) : data(bytes) {
    transfer.peer = peer;
    transfer.tag = tag;
    transfer.at = data.data();
    transfer.bytes = bytes;
  }
  void fill(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::byte& b : data) b = static_cast<std::byte>(random());
  }
};

void wait_for(shm::Messenger& messenger, const End& end) {
  while (!end.transfer.done.load(std::memory_order_acquire)) {
    messenger.look();
    std::this_thread::yield();
  }
}

constexpr std::size_t never = SIZE_MAX;

/// The traffic from one rank to another, which both know.
struct Plan {
  struct Message {
    int tag;
    std::size_t bytes;
  };
  std::vector<Message> messages;

  Plan(int from, int to, std::uint64_t seed) {
    std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(from) * 100 + static_cast<std::uint64_t>(to));
    for (int i = 0; i < 30; ++i) {
      const std::size_t magnitude = std::size_t{1} << random() % 14;
      messages.push_back({static_cast<int>(random() % 4), random() % 8 == 0 ? 0 : random() % magnitude});
    }
  }
};

/// One start of a message by a rank.
struct Step {
  int peer;
  bool sends;
  Plan::Message message;
  std::uint64_t seed;  ///< of the data
};

/// Returns all that a rank starts, in a random order that keeps that of the messages with one tag of each pair.
std::vector<Step> steps_of(int self, int size, std::uint64_t seed) {
  std::map<std::tuple<int, bool, int>, std::deque<Step>> queues;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == self) continue;
    for (const bool sends : {true, false}) {
      const int from = sends ? self : peer;
      const int to = sends ? peer : self;
      std::uint64_t index = 0;
      for (const Plan::Message& message : Plan(from, to, seed).messages) {
        const auto data_seed = static_cast<std::uint64_t>(from) << 40 | static_cast<std::uint64_t>(to) << 20 | index++;
        queues[{peer, sends, message.tag}].push_back({peer, sends, message, data_seed});
      }
    }
  }
  std::mt19937_64 random(seed * 77 + static_cast<std::uint64_t>(self));
  std::vector<Step> steps;
  while (!queues.empty()) {
    const auto next = std::next(queues.begin(), static_cast<std::ptrdiff_t>(random() % queues.size()));
    steps.push_back(next->second.front());
    next->second.pop_front();
    if (next->second.empty()) queues.erase(next);
  }
  return steps;
}

/// Sends and receives all messages of one rank. Returns whether each came as it was sent.
bool play(shm::Messenger& messenger, const std::vector<Step>& steps) {
  std::deque<End> ends;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    End& end = ends.emplace_back(step.peer, step.message.tag, step.message.bytes);
    if (step.sends) {
      end.fill(step.seed);
      messenger.send(end.transfer);
    } else {
      messenger.receive(end.transfer);
    }
    if (step.seed % 4 == 0) messenger.look();
  }
  for (const End& end : ends) wait_for(messenger, end);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    End expected(0, 0, ends[i].data.size());
    expected.fill(steps[i].seed);
    if (expected.data != ends[i].data) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("shm: messages of any length in any order of tags, between many ranks") {
  for (const std::size_t least_lent_bytes : {never, std::size_t{1}, std::size_t{4096}}) {
    for (const std::size_t ring_bytes : {std::size_t{64}, std::size_t{4096}}) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        constexpr int size = 4;
        Node node(size, ring_bytes, least_lent_bytes);
        std::atomic<int> right{0};
        std::vector<std::thread> threads;
        for (int self = 0; self < size; ++self)
          threads.emplace_back([&, self] { right += play(node.rank(self), steps_of(self, size, seed)) ? 1 : 0; });
        for (std::thread& thread : threads) thread.join();
        CAPTURE(least_lent_bytes);
        CAPTURE(ring_bytes);
        CHECK(right == size);
      }
    }
  }
}

TEST_CASE("shm: a message that nobody awaits does not hold up the next one") {
  for (const std::size_t least_lent_bytes : {never, std::size_t{1}}) {
    Node node(2, 256, least_lent_bytes);
    End early(1, 7, 1000);
    End wanted(1, 8, 500);
    early.fill(1);
    wanted.fill(2);
    node.rank(0).send(early.transfer);
    node.rank(0).send(wanted.transfer);
    End second(0, 8, 500);
    node.rank(1).receive(second.transfer);
    while (!second.transfer.done) {
      node.rank(1).look();
      node.rank(0).look();
    }
    CHECK(second.data == wanted.data);
    End first(0, 7, 1000);
    node.rank(1).receive(first.transfer);
    CHECK(first.transfer.done);
    CHECK(first.data == early.data);
    node.rank(0).look();
    CHECK(early.transfer.done);
    CHECK(wanted.transfer.done);
  }
}

TEST_CASE("shm: a receive takes over a message that is coming in") {
  Node node(2, 64, never);
  End sent(1, 1, 1000);
  sent.fill(3);
  End other(0, 2, 8);
  node.rank(0).send(sent.transfer);
  node.rank(1).receive(other.transfer);  // it draws in the beginning of the first message
  node.rank(0).look();
  End received(0, 1, 1000);
  node.rank(1).receive(received.transfer);
  for (int i = 0; i < 100; ++i) {
    node.rank(0).look();
    node.rank(1).look();
  }
  CHECK(received.transfer.done);
  CHECK(received.data == sent.data);
  CHECK(!other.transfer.done);
  node.rank(1).abandon();
}

TEST_CASE("shm: more messages than can be lent at a time") {
  Node node(2, 4096, 1);
  std::deque<End> sent;
  for (int i = 0; i < 200; ++i) {
    sent.emplace_back(1, i % 3, 100).fill(static_cast<std::uint64_t>(i));
    node.rank(0).send(sent.back().transfer);
  }
  std::deque<End> received;
  for (int i = 0; i < 200; ++i) node.rank(1).receive(received.emplace_back(0, i % 3, 100).transfer);
  for (int i = 0; i < 1000; ++i) {
    node.rank(1).look();
    node.rank(0).look();
  }
  for (std::size_t i = 0; i < 200; ++i) {
    CHECK(sent[i].transfer.done);
    CHECK(received[i].data == sent[i].data);
  }
}

TEST_CASE("shm: a message of another length than expected is an error, and no byte goes astray") {
  for (const std::size_t least_lent_bytes : {never, std::size_t{1}}) {
    Node node(2, 4096, least_lent_bytes);
    End sent(1, 0, 100);
    node.rank(0).send(sent.transfer);
    End received(0, 0, 50);
    node.rank(1).receive(received.transfer);
    CHECK(node.rank(1).failed());
    CHECK(!received.transfer.done);
    const auto mismatch = node.rank(1).mismatch();
    REQUIRE(mismatch);
    CHECK(mismatch->sender == 0);
    CHECK(mismatch->bytes.sent == 100);
    CHECK(mismatch->bytes.awaited == 50);
    node.rank(1).abandon();
  }
}

TEST_CASE("shm: two threads of a rank have messages under way at the same time") {
  Node node(2, 256, 4096);
  const auto run = [&](int self, int tag) {
    for (int i = 0; i < 200; ++i) {
      End out(1 - self, tag, static_cast<std::size_t>(i * 37));
      End in(1 - self, tag, static_cast<std::size_t>(i * 37));
      out.fill(static_cast<std::uint64_t>(tag));
      node.rank(self).receive(in.transfer);
      node.rank(self).send(out.transfer);
      wait_for(node.rank(self), in);
      wait_for(node.rank(self), out);
      if (in.data != out.data) return false;
    }
    return true;
  };
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (const int self : {0, 1}) {
    for (const int tag : {5, 6}) threads.emplace_back([&, self, tag] { right += run(self, tag) ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 4);
}
