// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include <doctest/doctest.h>

#include "asked.hpp"
#include "most_ranks.hpp"

using namespace antiphon;

TEST_CASE("model choice: above the table's rates the model chooses") {
  // 16 nodes of 4 ranks at 25 Gb/s, where the table has no rule. Long enough for the links to decide.
  const Asked a = ask_of(Collective::allreduce, 4 << 20, 16, 4, 25e9);
  CHECK(a.of_table().algorithm == nullptr);
  const auto answer = answer_to(a);
  REQUIRE(answer);
  REQUIRE(answer->own.algorithm != nullptr);
  CHECK(answer->own_s > 4.0 * (1 << 20) / (25e9 / 8));
  const Choice choice = choose_between(a.of_table(), *answer);
  const bool worth = answer->library_s && *answer->library_s >= answer->own_s * answer->enough;
  CHECK((choice.algorithm != nullptr) == worth);
}

TEST_CASE("model choice: nodes with many ranks have an answer, too, above the table's rates") {
  if (few_ranks()) return;
  for (const int nodes : {8, 64}) {
    for (const int ranks_per_node : {24, 32}) {
      CAPTURE(nodes);
      CAPTURE(ranks_per_node);
      const Asked a = ask_of(Collective::allreduce, 1 << 20, nodes, ranks_per_node, 25e9);
      const auto answer = answer_to(a);
      REQUIRE(answer);
      CHECK(choose_between(a.of_table(), *answer).algorithm != nullptr);
    }
  }
}

TEST_CASE("model choice: several ranks of a node send at a time where one does not fill its port") {
  const Asked a = ask_of(Collective::allreduce, 1 << 13, 64, 32, 25e9);
  const auto answer = answer_to(a);
  REQUIRE(answer);
  const Choice choice = choose_between(a.of_table(), *answer);
  REQUIRE(choice.algorithm != nullptr);
  CHECK(choice.algorithm->name == "nested");
  std::int64_t leaders = 0;
  for (const ParameterValue& p : choice.parameters) leaders = p.name == "lanes" ? p.value : leaders;
  CHECK(leaders > 1);
}

TEST_CASE("model choice: a guess knows short calls within nodes where ranks have cores of their own") {
  Asked a = ask_of(Collective::alltoall, 1024, 16, 4, 1e10);
  const auto unshared = answer_to(a);
  REQUIRE(unshared);
  CHECK(choose_between(a.of_table(), *unshared).algorithm != nullptr);
  CHECK(unshared->own.algorithm->levels);
  Profile profile = Profile::guess(16, 4, 1e10);
  profile.refine_guess({2, 16, 65536});
  a.cluster = Cluster::blocked(profile, 64, 4);
  const auto shared = answer_to(a);
  CHECK((!shared || !shared->own.algorithm->levels));
}

TEST_CASE("model choice: long messages are predicted in longer pieces where there would be too many") {
  for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::allreduce}) {
    CAPTURE(name(collective));
    const Asked a = ask_of(collective, 4 << 20, 64, 32, 25e9);
    const auto answer = answer_to(a);
    REQUIRE(answer);
    INFO(answer->own.to_string(), " ", answer->own_s, " ", answer->library_s.value_or(-1), " ",
         a.of_ours().to_string());
    CHECK(choose_between(a.of_table(), *answer).algorithm != nullptr);
  }
}

TEST_CASE("model choice: long blocks of many ranks take about what ports need for them") {
  const Asked a = ask_of(Collective::allgather, 1 << 18, 16, 16, 1e10);
  const auto answer = answer_to(a);
  REQUIRE(answer);
  const double wire_s = 240.0 * (1 << 18) / (1e10 / 8);
  CHECK(answer->own_s > wire_s);
  CHECK(answer->own_s < 1.25 * wire_s);
}

TEST_CASE("model choice: very many ranks and very short blocks have an answer") {
  if (few_ranks()) return;
  for (const Collective collective : {Collective::allgather, Collective::alltoall, Collective::allreduce})
    CHECK(answer_to(ask_of(collective, collective == Collective::allreduce ? 1 << 18 : 512, 512, 64, 25e9)));
}

TEST_CASE("model choice: nothing is known of very many ranks that share a node's cores") {
  Profile profile = Profile::guess(8, 32, 25e9);
  profile.refine_guess({2, 1, 65536});
  Asked a = ask_of(Collective::allreduce, 1 << 20, 8, 32, 25e9);
  a.cluster = Cluster::blocked(profile, 256, 32);
  CHECK_FALSE(answer_to(a));
}

TEST_CASE("model choice: what was predicted does not replace what could not be in the time that is given") {
  const Asked a = ask_of(Collective::alltoall, 1 << 18, 64, 32, 1e9);
  REQUIRE(a.of_table().algorithm != nullptr);
  CHECK_FALSE(answer_to(a));
}

TEST_CASE("model choice: the table's choice is given up, too, where its messages share links in very many ways") {
  Asked a = ask_of(Collective::alltoall, 1 << 20, 16, 4, 1e9);
  a.question.ranks = 63;
  a.cluster = Cluster::blocked(Profile::guess(16, 4, 1e9), 63, 4);
  REQUIRE(a.of_table().algorithm != nullptr);
  CHECK_FALSE(answer_to(a));
}

TEST_CASE("model choice: a quick prediction for nodes with many ranks is near to that of all ranks") {
  const Cluster cluster = Cluster::blocked(Profile::guess(16, 32, 25e9), 512, 32).sharing_memory();
  PredictionLimits quick;
  quick.max_ranks = 64;
  quick.one_order = true;
  for (const char* text : {"bcast:chain", "bcast:binomial", "reduce:rabenseifner", "reduce:chain", "allreduce:nested",
                           "allreduce:rabenseifner", "allreduce:ring"}) {
    CAPTURE(text);
    const std::string_view both = text;
    const auto collective = collective_from_name(both.substr(0, both.find(':')));
    REQUIRE(collective);
    const Choice choice = parse_choice(*collective, both.substr(both.find(':') + 1));
    const PredictedCall call{*collective, 1 << 18, 0, 8};
    const auto all = predict(call, *choice.algorithm, choice.parameters, cluster);
    const auto few = predict(call, *choice.algorithm, choice.parameters, cluster, nullptr, quick);
    REQUIRE(all);
    REQUIRE(few);
    CHECK(few->method != antiphon::Method::evaluated);
    CHECK(few->seconds > all->seconds / 1.5);
    CHECK(few->seconds < all->seconds * 1.5);
  }
}

TEST_CASE("model choice: the same arguments give the same answer") {
  for (const Collective collective : {Collective::bcast, Collective::alltoall, Collective::reduce_scatter_block}) {
    const Asked a = ask_of(collective, 65536, 8, 2, 1e9);
    const auto first = answer_to(a), second = answer_to(a);
    REQUIRE(first.has_value() == second.has_value());
    if (!first) continue;
    CHECK(first->own.to_string() == second->own.to_string());
    CHECK(first->own_s == second->own_s);
    CHECK(first->library_s == second->library_s);
  }
}

TEST_CASE("model choice: ours must be clearly faster to replace the library's, and much slower to give way") {
  ModelAnswer answer;
  answer.own = parse_choice(Collective::bcast, "chain");
  answer.own_s = 1e-3;
  answer.enough = 1.25;
  answer.library_s = 1.2e-3;
  const Choice library;
  CHECK(choose_between(library, answer).algorithm == nullptr);
  answer.library_s = 1.3e-3;
  CHECK(choose_between(library, answer).to_string() == answer.own.to_string());
  CHECK(choose_between(library, answer).reason == "the model: 1 ms, the library's 1.3 ms");
  const Choice ours = parse_choice(Collective::bcast, "binomial");
  answer.enough = 0.5;
  answer.library_s = 0.6e-3;
  CHECK(choose_between(ours, answer).to_string() == answer.own.to_string());
  answer.library_s = 0.4e-3;
  CHECK(choose_between(ours, answer).algorithm == nullptr);
  answer.library_s.reset();
  CHECK(choose_between(ours, answer).to_string() == answer.own.to_string());
  CHECK(choose_between(library, answer).algorithm == nullptr);
  // A few microseconds of a guess decide nothing.
  answer = {parse_choice(Collective::bcast, "chain"), 20e-6, 40e-6, 1.25, true};
  CHECK(choose_between(library, answer).algorithm == nullptr);
  answer.guessed = false;
  CHECK(choose_between(library, answer).algorithm != nullptr);
}

TEST_CASE("model choice: no answer where nothing is known") {
  Asked a = ask_of(Collective::bcast, -1, 8, 1, 1e9);
  CHECK_FALSE(answer_to(a));
  a = ask_of(Collective::bcast, 65536, 2, 1, 1e9);
  CHECK_FALSE(answer_to(a));
  a = ask_of(Collective::bcast, 64, 16, 4, 1e9);  // the table says library, and a guess knows little of 64 bytes
  CHECK_FALSE(answer_to(a));
  a = ask_of(Collective::bcast, 65536, 1, 8, 1e9);
  CHECK_FALSE(answer_to(a));
}

TEST_CASE("model choice: ranks on shared cores do not go round a long ring for a short message") {
  Profile profile = Profile::guess(16, 4, 1e8);
  profile.refine_guess({2, 16, 8192});
  Asked a = ask_of(Collective::bcast, 8192, 16, 4, 1e8);
  a.cluster = Cluster::blocked(profile, 64, 4);
  const auto answer = answer_to(a);
  REQUIRE(answer);
  CHECK(answer->own.algorithm->name != "scatter_allgather_ring");
}

TEST_CASE("model choice: on shared cores a message waits for its rank's turn, so that trees are faster than chains") {
  Profile profile = Profile::guess(16, 1, 1e8);
  profile.refine_guess({2, 16, 8192, 8e-6});
  const Cluster cluster = Cluster::blocked(profile, 16, 1);
  const auto predicted_s = [&](const char* algorithm, std::int64_t bytes) {
    const Choice choice = parse_choice(Collective::bcast, algorithm);
    const PredictedCall call{Collective::bcast, bytes, 0, 8};
    return predict(call, *choice.algorithm, choice.parameters, cluster)->seconds;
  };
  // Eight ranks share a core, and each of fifteen hops takes about a turn of each of them.
  CHECK(predicted_s("chain", 64) > 15 * 7 * profile.processors.turn_s);
  CHECK(predicted_s("split_binary", 8192) < predicted_s("chain:segment_bytes=2k", 8192));
  for (const Collective collective : {Collective::bcast, Collective::reduce}) {
    for (const std::int64_t bytes : {2048, 4096, 8192}) {
      Asked a = ask_of(collective, bytes, 16, 1, 1e8);
      a.cluster = cluster;
      const auto answer = answer_to(a);
      const Choice choice = answer ? choose_between(a.of_table(), *answer) : a.of_table();
      CHECK((choice.algorithm == nullptr || choice.algorithm->name != "chain"));
    }
  }
}

TEST_CASE(
    "model choice: what has no prediction in the time that is given is not chosen, and does not replace the table's") {
  // On 65 nodes predictions come from 64, 32, 16 and 8, of which several may be given up.
  for (const Collective collective : {Collective::bcast, Collective::scan, Collective::alltoall}) {
    const Asked a = ask_of(collective, 1 << 20, 65, 1, 1e8);
    const auto answer = answer_to(a);
    if (!answer) continue;
    CAPTURE(answer->own.to_string());
    CHECK(std::isfinite(answer->own_s));
    CHECK_FALSE((answer->library_s && std::isnan(*answer->library_s)));
    CHECK(choose_between(a.of_table(), *answer).algorithm != nullptr);
  }
  const Asked a = ask_of(Collective::bcast, 1 << 20, 128, 1, 1e8);
  PredictionLimits limits;
  limits.max_ranks = 64;
  limits.max_rate_updates = 100;
  const PredictedCall call{Collective::bcast, 1 << 20};
  const auto predicted = predict(call, *find_algorithm(Collective::bcast, "circulant"), {}, a.cluster, nullptr, limits);
  REQUIRE(predicted);
  CHECK(std::isinf(predicted->seconds));
}

TEST_CASE("model choice: the library's own schedule is not taken for faster than the library") {
  // Open MPI's way is the same messages, on two cores that all nodes share as in a lab.
  Asked a = ask_of(Collective::alltoall, 1024, 16, 1, 1e8);
  Profile profile = a.cluster.profile();
  profile.refine_guess({.cores_per_node = 2, .nodes_sharing = 16, .link_burst_bytes = 8192, .turn_s = 1.7e-6});
  a.cluster = Cluster::blocked(profile, 16, 1);
  const auto answer = answer_to(a);
  REQUIRE(answer);
  CHECK(choose_between(a.of_table(), *answer).algorithm == nullptr);
}

TEST_CASE("model choice: on shared cores a guess leaves short nested schedules of the table alone") {
  Profile profile = Profile::guess(16, 4, 100e6);
  profile.refine_guess({2, 16, 8192});
  for (const Collective collective : {Collective::alltoall, Collective::reduce_scatter_block}) {
    Asked a = ask_of(collective, 1024, 16, 4, 100e6);
    CHECK(answer_to(a));
    a.cluster = Cluster::blocked(profile, 64, 4);
    REQUIRE(a.of_table().algorithm != nullptr);
    CHECK(a.of_table().algorithm->levels);
    CHECK_FALSE(answer_to(a));
  }
}

TEST_CASE("model choice: a nested schedule's way among nodes is chosen, too") {
  const Asked a = ask_of(Collective::bcast, 65536, 16, 8, 400e6);
  CHECK((a.of_table().algorithm == nullptr || !a.of_table().algorithm->levels));
  const auto answer = answer_to(a);
  REQUIRE(answer);
  CHECK(answer->own.algorithm->name == "nested");
  const std::int64_t by_default = answer->own.algorithm->parameters.front().default_value;
  CHECK(answer->own.parameters.front().name == "outer");
  CHECK(answer->own.parameters.front().value != by_default);
}

TEST_CASE("model choice: of what is as fast, uplinks are spared") {
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter_block}) {
    CAPTURE(std::string(name(collective)));
    Asked a = ask_of(collective, 65536, 16, 1, 1e8);
    CHECK(answer_to(a)->own.algorithm->name != "switch_rings");
    Profile profile = a.cluster.profile();
    const double rate = profile.port_bytes_per_s();
    profile.topology.switches = {{"top"}, {"one", 0, 2 * rate}, {"two", 0, 2 * rate}};
    for (std::size_t n = 0; n < 16; ++n) profile.topology.nodes[n].switch_index = n % 2 == 0 ? 1 : 2;
    a.cluster = Cluster::blocked(profile, 16, 1);
    CHECK(answer_to(a)->own.algorithm->name == "switch_rings");
  }
}

TEST_CASE("model choice: uplinks are spared where switches hold different numbers of nodes, too") {
  Asked a = ask_of(Collective::allgather, 65536, 16, 1, 1e8);
  Profile profile = a.cluster.profile();
  const double rate = profile.port_bytes_per_s();
  profile.topology.switches = {{"top"}, {"one", 0, 2 * rate}, {"two", 0, 2 * rate}};
  for (const std::size_t first : {9U, 10U, 12U}) {
    CAPTURE(first);
    for (std::size_t n = 0; n < 16; ++n) profile.topology.nodes[n].switch_index = n < first ? 1 : 2;
    a.cluster = Cluster::blocked(profile, 16, 1);
    CHECK(answer_to(a)->own.algorithm->name == "switch_rings");
  }
}

TEST_CASE("model choice: pieces are longer where hosts bind before the wire") {
  const auto piece_bytes = [](const Choice& choice) {
    for (std::size_t i = 0; i < choice.parameters.size(); ++i) {
      if (choice.algorithm->parameters[i].role == Role::piece) return choice.parameters[i].value;
    }
    return std::int64_t{0};
  };
  const auto on_slow_links = answer_to(ask_of(Collective::alltoall, 1048576, 12, 1, 1e8));
  REQUIRE(on_slow_links);
  for (const std::int64_t bytes : {262144, 1048576, 4194304}) {
    Asked a = ask_of(Collective::alltoall, bytes, 12, 1, 10e9);
    const auto answer = answer_to(a);
    REQUIRE(answer);
    const Choice chosen = choose_between(a.of_table(), *answer);
    CHECK(piece_bytes(answer->own) >= 2 * piece_bytes(on_slow_links->own));
    REQUIRE(answer->library_s);
    CHECK(answer->own_s < 1.4 * *answer->library_s);
    CHECK((chosen.algorithm == nullptr) == (*answer->library_s < answer->own_s));
  }
}

TEST_CASE("model choice: a guess takes nothing that links with short latencies would lose") {
  // Among 16 ranks at 1 Gb/s the library combines halves of 8 KiB: more rounds, each as long as its latency. A guess
  // has long latencies, and would send whole vectors in fewer rounds, which took 1.8 times as long.
  Asked a = ask_of(Collective::allreduce, 8192, 16, 1, 1e9);
  const auto answer = answer_to(a);
  REQUIRE(answer);
  CHECK(choose_between(a.of_table(), *answer).algorithm == nullptr);
  // Where ranks share cores their turns make the latency, which is never short.
  Profile profile = Profile::guess(16, 1, 1e9);
  HostFacts facts;
  facts.cores_per_node = 2;
  facts.nodes_sharing = 16;
  profile.refine_guess(facts);
  a.cluster = Cluster::blocked(profile, 16, 1);
  const auto in_turns = answer_to(a);
  REQUIRE(in_turns);
  REQUIRE(in_turns->library_s);
  CHECK(*in_turns->library_s / in_turns->own_s > *answer->library_s / answer->own_s);
}
