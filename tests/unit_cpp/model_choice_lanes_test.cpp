// SPDX-License-Identifier: Apache-2.0
// Checks choices where one connection does not fill a port.
#include <utility>

#include <doctest/doctest.h>

#include "asked.hpp"

using namespace antiphon;

TEST_CASE("model choice: several connections fill a port that one does not") {
  constexpr double port = 11.95e6;
  constexpr std::int64_t bytes = 1 << 18;
  constexpr double wire_bytes = 15.0 * bytes;
  for (const Collective collective : {Collective::allgather, Collective::alltoall}) {
    Asked a = ask_of(collective, bytes, 16, 1, 100e6);
    Profile profile = a.cluster.profile();
    profile.first_guess = false;
    profile.contention.credit_bytes = 140000;
    LinkClass& link = profile.link_classes.back();
    link.connection_way_bytes_per_s = port / 4;
    link.gap = Curve::line(20e-6, port / 4);
    a.cluster = Cluster::blocked(profile, 16, 1);
    const auto answer = answer_to(a);
    REQUIRE(answer);
    INFO(name(collective), " by ", answer->own.to_string());
    CHECK(answer->own_s < 1.15 * wire_bytes / port);
    CHECK(choose_between(a.of_table(), *answer).algorithm != nullptr);
  }
}

TEST_CASE("model choice: a guess knows a port that one connection does not fill, with one rank a node and several") {
  constexpr std::int64_t bytes = 1 << 18;
  constexpr double port = 100e6 / 8 * 1448 / 1514;
  struct Shape {
    int nodes, ranks_per_node;
  };
  for (const Shape shape : {Shape{16, 1}, Shape{4, 4}}) {
    const int ranks = shape.nodes * shape.ranks_per_node;
    const double others = ranks - shape.ranks_per_node;
    Profile profile = Profile::guess(shape.nodes, shape.ranks_per_node, 100e6);
    profile.refine_guess({.cores_per_node = 2, .nodes_sharing = shape.nodes, .connection_bits_per_s = 25'000'000});
    // An allgather brings a node each block once, a reduction leaves it with one sum for each.
    const std::pair<Collective, double> blocks[] = {{Collective::allgather, others},
                                                    {Collective::alltoall, others * shape.ranks_per_node},
                                                    {Collective::reduce_scatter_block, others},
                                                    {Collective::gather, others},
                                                    {Collective::scatter, others}};
    for (const auto& of : blocks) {
      const double wire_s = of.second * bytes / port;
      Asked a = ask_of(of.first, bytes, shape.nodes, shape.ranks_per_node, 100e6);
      a.cluster = Cluster::blocked(profile, ranks, shape.ranks_per_node);
      const auto answer = answer_to(a);
      REQUIRE(answer);
      INFO(name(of.first), " by ", answer->own.to_string(), ", ranks a node: ", shape.ranks_per_node);
      CHECK(answer->own_s >= 0.99 * wire_s);
      CHECK(answer->own_s <= 1.25 * wire_s);
    }
  }
}

TEST_CASE("model choice: a few more ranks than connections that fill a port get their blocks at once, in pieces") {
  constexpr double port = 100e6 / 8 * 1448 / 1514;
  Profile profile = Profile::guess(6, 1, 100e6);
  profile.refine_guess({.cores_per_node = 2, .nodes_sharing = 6, .connection_bits_per_s = 25'000'000});
  for (const std::int64_t bytes : {1 << 17, 1 << 18, 1 << 20}) {
    Asked a = ask_of(Collective::alltoall, bytes, 6, 1, 100e6);
    a.cluster = Cluster::blocked(profile, 6, 1);
    const auto answer = answer_to(a);
    REQUIRE(answer);
    INFO(answer->own.to_string(), " for ", bytes);
    CHECK(answer->own_s <= 1.15 * 5 * static_cast<double>(bytes) / port);
    const Choice choice = choose_between(a.of_table(), *answer);
    REQUIRE(choice.algorithm != nullptr);
    CHECK(choice.to_string() == "windowed:window=5,piece_bytes=8192");
  }
}

TEST_CASE("model choice: ranks that are dealt over nodes in turn have what ranks along the nodes have") {
  Profile profile = Profile::guess(4, 4, 100e6);
  profile.refine_guess({.cores_per_node = 2, .nodes_sharing = 4, .connection_bits_per_s = 25'000'000});
  for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::allreduce}) {
    Asked a = ask_of(collective, 1 << 18, 4, 4, 100e6);
    a.cluster = Cluster::blocked(profile, 16, 4);
    const auto along = answer_to(a);
    a.cluster = Cluster::round_robin(profile, 16, 4);
    const auto in_turn = answer_to(a);
    REQUIRE(along);
    REQUIRE(in_turn);
    CHECK(along->own.algorithm->levels);
    CHECK(in_turn->own.to_string() == along->own.to_string());
    CHECK(in_turn->own_s == doctest::Approx(along->own_s).epsilon(0.05));
  }
}
