// SPDX-License-Identifier: Apache-2.0
// Checks which groups of a rank's messages are held, and that what does not repeat never is.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "antiphon/send_groups.hpp"

using antiphon::SendGroups;
using Advice = SendGroups::Advice;

namespace {

constexpr double bytes_per_s = 12.5e6;
constexpr int ranks = 16;

/// A rank's calls, one rank a node, with a clock of its own.
class Program {
 public:
  explicit Program(int rank, int ranks_of_a_node = 1) : a_node(ranks_of_a_node), rank_(rank) {}

  /// Sends to these ranks and waits; returns how many of the messages were held.
  int exchange(const std::vector<int>& peers, std::int64_t bytes = 65536, double pause_s = 0) {
    int held = 0;
    for (const int peer : peers) held += send(peer, bytes) == Advice::hold ? 1 : 0;
    now_s_ += pause_s;
    way = groups.wait(now_s_);
    now_s_ += lasts_s;
    groups.waited(now_s_);
    return held;
  }
  Advice send(int peer, std::int64_t bytes = 65536) {
    now_s_ += 1e-6;
    const Advice advice =
        groups.send({1, ranks, ranks / a_node, peer, peer / a_node, peer / a_node == rank_ / a_node, bytes}, now_s_);
    now_s_ += takes_s;
    groups.sent(now_s_);
    return advice;
  }
  /// Sends to these ranks until it is known that this group follows itself.
  void repeat(const std::vector<int>& peers) {
    for (int i = 0; i < 4; ++i) CHECK(exchange(peers) == 0);
  }
  /// Returns all other ranks in the order of their numbers.
  [[nodiscard]] std::vector<int> others() const {
    std::vector<int> all;
    for (int r = 0; r < ranks; ++r) {
      if (r != rank_) all.push_back(r);
    }
    return all;
  }
  /// Returns them in an order that begins with another one on each rank.
  [[nodiscard]] std::vector<int> others_from_here() const {
    std::vector<int> all;
    for (int step = 1; step < ranks; ++step) all.push_back((rank_ + step * 7) % ranks);
    return all;
  }

  SendGroups groups{bytes_per_s};
  SendGroups::Way way;
  double lasts_s = 0.1;
  double takes_s = 1e-6;  ///< to send a message
  int a_node;

 private:
  int rank_;
  double now_s_ = 0;
};

}  // namespace

TEST_CASE("a group that has followed itself three times is held, and goes first to the ranks that follow") {
  Program program(3);
  program.repeat(program.others());
  CHECK(program.exchange(program.others()) == ranks - 1);
  CHECK(program.way.in_turn);
  CHECK(program.way.rotates);
  // Its lengths may change.
  CHECK(program.exchange(program.others(), 30000) == ranks - 1);
}

TEST_CASE("an order that begins elsewhere on each rank stays, but messages go one after the other") {
  Program program(3);
  program.repeat(program.others_from_here());
  CHECK(program.exchange(program.others_from_here()) == ranks - 1);
  CHECK_FALSE(program.way.rotates);
}

TEST_CASE("with several ranks a node, an order that begins behind each rank is not taken for that of all ranks") {
  for (const int rank : {1, 6, 14}) {
    Program program(rank, 4);
    std::vector<int> peers;
    for (int step = 1; step < ranks; ++step) peers.push_back((rank + step) % ranks);
    for (int i = 0; i < 6; ++i) CHECK(program.exchange(peers) == 0);
    Program other(rank, 4);
    other.repeat(other.others());
    CHECK(other.exchange(other.others()) == ranks - 4);
    CHECK(other.way.rotates);
  }
}

TEST_CASE("short groups, few nodes, and halos are sent at once") {
  for (const auto& peers : {std::vector<int>{2, 4}, {4}, {2, 4, 7, 15, 1, 10}}) {
    Program program(3);
    for (int i = 0; i < 6; ++i) CHECK(program.exchange(peers) == 0);
  }
  Program program(3);
  for (int i = 0; i < 6; ++i) CHECK(program.exchange(program.others(), 1024) == 0);
  for (int i = 0; i < 6; ++i) CHECK(program.exchange(program.others_from_here(), 8192) == 0);
}

TEST_CASE("what is not waited for at once is not held") {
  Program program(3);
  for (int i = 0; i < 6; ++i) CHECK(program.exchange(program.others(), 65536, 0.05) == 0);
  for (int i = 0; i < 3; ++i) CHECK(program.exchange(program.others()) == 0);
  CHECK(program.exchange(program.others(), 65536, 0.05) == ranks - 1);
  CHECK(program.exchange(program.others()) == 0);
}

TEST_CASE("the library may take its time to send") {
  Program program(3);
  program.takes_s = 0.01;
  program.repeat(program.others());
  CHECK(program.exchange(program.others()) == ranks - 1);
}

TEST_CASE("a message to another rank releases what is held, and the group is learned anew") {
  Program program(3);
  const std::vector<int> peers = program.others();
  program.repeat(peers);
  CHECK(program.send(peers[0]) == Advice::hold);
  CHECK(program.send(peers[1]) == Advice::hold);
  CHECK(program.send(peers[0]) == Advice::release);
  CHECK(program.send(peers[2]) == Advice::pass);
  program.exchange({});
  program.repeat(peers);
}

TEST_CASE("a group that was interrupted while it was held never is again") {
  Program program(3);
  program.repeat(program.others());
  CHECK(program.send(program.others()[0]) == Advice::hold);
  program.groups.interrupt();
  for (int i = 0; i < 9; ++i) program.exchange(program.others());
  CHECK(program.exchange(program.others()) == 0);
}

TEST_CASE("a receive from any rank keeps a group from being held") {
  Program program(3);
  for (int i = 0; i < 8; ++i) {
    program.groups.spoil();
    CHECK(program.exchange(program.others()) == 0);
  }
}

TEST_CASE("groups that take turns are told apart") {
  Program program(3);
  const std::vector<int> halo{2, 4};
  for (int i = 0; i < 3; ++i) {
    CHECK(program.exchange(halo) == 0);
    CHECK(program.exchange(program.others()) == 0);
  }
  CHECK(program.exchange(halo) == 0);
  CHECK(program.exchange(program.others()) == ranks - 1);
}

TEST_CASE("a group that takes longer when it is held is sent at once again") {
  Program program(3);
  program.repeat(program.others());
  program.lasts_s = 0.2;
  for (int i = 0; i < 6; ++i) CHECK(program.exchange(program.others()) == ranks - 1);
  for (int i = 0; i < 3; ++i) CHECK(program.exchange(program.others()) == 0);
}

TEST_CASE("longer groups that take longer are held all the same") {
  Program program(3);
  program.repeat(program.others());
  for (int i = 0; i < 3; ++i) CHECK(program.exchange(program.others()) == ranks - 1);
  program.lasts_s = 0.4;
  for (int i = 0; i < 12; ++i) CHECK(program.exchange(program.others(), 262144) == ranks - 1);
}

TEST_CASE("programs without a pattern cost little memory, and are never held") {
  Program program(3);
  for (int i = 0; i < 5000; ++i) {
    std::vector<int> peers = program.others();
    std::rotate(peers.begin(), peers.begin() + i % 7, peers.end());
    peers.resize(static_cast<std::size_t>(1 + (i * i) % 13));
    program.exchange(peers);
  }
  for (int i = 0; i < 10000; ++i) CHECK(program.send(i % 3) != Advice::hold);
}
