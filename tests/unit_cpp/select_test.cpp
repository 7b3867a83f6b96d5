// SPDX-License-Identifier: Apache-2.0
// Checks choices, rules and the default table.
#include <set>

#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/select.hpp"

using namespace antiphon;

namespace {

Question ethernet(Collective collective, int ranks, std::int64_t bytes) {
  return {collective, ranks, ranks, 1, bytes, 1, true, 100'000'000};
}

Collective collective(int i) { return static_cast<Collective>(i); }

std::string format_error(const std::string& json) {
  try {
    Rules::parse(json);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

std::string rule_error(const std::string& fields) {
  return format_error(R"({"version": 1, "rules": [{)" + fields + "}]}");
}

std::string invalid_argument(std::string_view text) {
  try {
    parse_choice(Collective::alltoall, text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a choice is read and written in the same form") {
  const Choice choice = parse_choice(Collective::alltoall, "rotated:window=3,piece_bytes=16k");
  REQUIRE(choice.algorithm == find_algorithm(Collective::alltoall, "rotated"));
  CHECK(contains(choice.to_string(), "piece_bytes=16384,window=3"));
  for (const Algorithm* a : algorithms()) {
    const std::string text = parse_choice(a->collective, a->name).to_string();
    CHECK(parse_choice(a->collective, text).to_string() == text);
  }
  CHECK(parse_choice(Collective::alltoall, "library").algorithm == nullptr);
  CHECK(Choice{}.to_string() == "library");
  CHECK(parse_choice(Collective::alltoall, "rotated:piece_bytes=1m").parameters[0].value == 1 << 20);
}

TEST_CASE("on one node, calls that gain from shared memory are not the library's") {
  const Rules& rules = Rules::defaults();
  const auto chosen = [&](Collective collective, int ranks, std::int64_t bytes, std::string_view mpi) {
    Question question{collective, ranks, 1, ranks, bytes, 8, true, 0, ""};
    question.mpi = mpi;
    question.shares_cores = true;
    const Choice blocking = rules.choose(question);
    question.nonblocking = true;
    CHECK(rules.choose(question).algorithm == nullptr);
    return blocking.algorithm != nullptr;
  };
  for (const std::string_view mpi : {"openmpi", "mpich"}) {
    for (const int ranks : {2, 8, 16}) {
      CHECK(chosen(Collective::allreduce, ranks, 65536, mpi));
      CHECK(chosen(Collective::reduce_scatter_block, ranks, 65536, mpi));
      CHECK(chosen(Collective::reduce, ranks, 1 << 20, mpi) == (mpi == "mpich"));
      CHECK(chosen(Collective::alltoall, ranks, 8192, mpi));
      CHECK_FALSE(chosen(Collective::alltoall, ranks, 1 << 20, mpi));
      CHECK_FALSE(chosen(Collective::allreduce, ranks, 8, mpi));
    }
    CHECK_FALSE(chosen(Collective::allreduce, 64, 65536, mpi));
    for (const bool shares_cores : {false, true}) {
      CHECK(rules.act_on_one_node(Collective::allreduce, mpi, shares_cores));
      CHECK_FALSE(rules.act_on_one_node(Collective::barrier, mpi, shares_cores));
    }
  }
  CHECK_FALSE(chosen(Collective::allreduce, 8, 65536, ""));
  CHECK_FALSE(rules.act_on_one_node(Collective::allreduce, "", true));
  // With a core for each rank, MPICH's own broadcast within a node is faster.
  CHECK(rules.act_on_one_node(Collective::bcast, "mpich", true));
  CHECK_FALSE(rules.act_on_one_node(Collective::bcast, "mpich", false));
}

TEST_CASE("a rule may hold only where ranks share cores, or only where they do not") {
  const Rules rules = Rules::parse(R"({"version": 1, "rules": [
    {"collective": "bcast", "shares_cores": true, "use": "chain", "why": "turns are long"},
    {"collective": "bcast", "shares_cores": false, "use": "binomial", "why": "each has a core"}]})");
  Question question = ethernet(Collective::bcast, 16, 65536);
  CHECK(rules.choose(question).algorithm->name == "binomial");
  question.shares_cores = true;
  CHECK(rules.choose(question).algorithm->name == "chain");
  CHECK_THROWS_AS(Rules::parse(R"({"version": 1, "rules": [
    {"collective": "bcast", "shares_cores": 1, "use": "chain"}]})"),
                  FormatError);
}

TEST_CASE("very short calls of MPICH are replaced only where ranks share cores") {
  const Rules& rules = Rules::defaults();
  for (const Collective collective : {Collective::bcast, Collective::scatter, Collective::gather, Collective::allreduce,
                                      Collective::reduce, Collective::alltoall, Collective::barrier}) {
    Question question = ethernet(collective, 16, collective == Collective::barrier ? 0 : 8);
    question.link_bits_per_s = 1'000'000'000;
    question.mpi = "mpich";
    CAPTURE(name(collective));
    CHECK(rules.choose(question).algorithm == nullptr);
    question.shares_cores = true;
    CHECK(rules.choose(question).algorithm != nullptr);
  }
}

TEST_CASE("a rule may hold only where operands give the same bits in any order") {
  const Rules rules = Rules::parse(R"({"version": 1, "rules": [
    {"collective": "allreduce", "exact": true, "use": "ring", "why": "whole numbers"},
    {"collective": "allreduce", "use": "recursive_doubling", "why": "all others"}]})");
  Question question = ethernet(Collective::allreduce, 16, 65536);
  CHECK(rules.choose(question).to_string().starts_with("ring"));
  question.exact = false;
  CHECK(rules.choose(question).to_string().starts_with("recursive_doubling"));
}

TEST_CASE("a rule may ask whose library it is, and how ranks lie on nodes") {
  const Rules rules = Rules::parse(R"({"version": 1, "rules": [
    {"collective": "bcast", "mpi": "mpich", "use": "binomial", "why": "mpich's"},
    {"collective": "bcast", "blocked": false, "use": "library", "why": "scattered"},
    {"collective": "bcast", "use": "chain", "why": "any"}]})");
  Question q = ethernet(Collective::bcast, 16, 1024);
  CHECK(rules.choose(q).reason == "any");
  q.mpi = "openmpi";
  CHECK(rules.choose(q).reason == "any");
  q.blocked = false;
  CHECK(rules.choose(q).reason == "scattered");
  q.mpi = "mpich";
  CHECK(rules.choose(q).reason == "mpich's");
  CHECK(rule_error(R"("collective": "bcast", "use": "library", "mpi": "lam")") ==
        "rules[0].mpi: expected \"openmpi\" or \"mpich\"");
}

TEST_CASE("what is wrong with a choice is named") {
  CHECK(contains(invalid_argument("rotatd"), "alltoall has no algorithm \"rotatd\" (there are: library, "));
  CHECK(contains(invalid_argument(""), "no algorithm"));
  CHECK(contains(invalid_argument("rotated:window"), "PARAMETER=VALUE"));
  CHECK(contains(invalid_argument("rotated:window=x"), "\"x\" is not a whole number"));
  CHECK(contains(invalid_argument("rotated:window=2kk"), "not a whole number"));
  CHECK(contains(invalid_argument("rotated:window=2q"), "not a whole number"));
  CHECK(contains(invalid_argument("rotated:window="), "not a whole number"));
  CHECK(contains(invalid_argument("rotated:piece_bytes=9223372036854775807g"), "not a whole number"));
  CHECK(contains(invalid_argument("rotated:piece_bytes=99999999999999999999"), "not a whole number"));
  CHECK(contains(invalid_argument("rotated:windw=2"), "has no parameter windw"));
  CHECK(contains(invalid_argument("rotated:window=0"), "is not within"));
  CHECK(contains(invalid_argument("rotated:,"), "PARAMETER=VALUE"));
}

TEST_CASE("the first rule that matches decides, bounds are inclusive") {
  const Rules rules = Rules::parse(R"({"version": 1, "rules": [
    {"collective": "bcast", "bytes": [10, 20], "ranks": [4, null], "use": "chain:segment_bytes=1k", "why": "first"},
    {"collective": "bcast", "bytes": [20, null], "nodes": [2, 3], "ranks_per_node": [2, 2], "use": "library"},
    {"collective": "bcast", "link_bits_per_s": [1, 1000], "use": "chain"},
    {"collective": "barrier", "use": "dissemination"}]})");
  const auto reason = [&](Question q) { return rules.choose(q).reason; };
  Question q{Collective::bcast, 8, 4, 2, 10};
  CHECK(reason(q) == "first");
  CHECK(rules.choose(q).to_string().find("segment_bytes=1024") != std::string::npos);
  q.bytes = 20;
  CHECK(reason(q) == "first");
  q.ranks = 3;
  CHECK(reason(q) == "no rule matches");
  q.nodes = 3;
  CHECK(reason(q) == "rules[1]");
  CHECK(rules.choose(q).algorithm == nullptr);
  CHECK(rules.choose_own(q).reason == "no rule matches");
  q.link_bits_per_s = 1000;
  CHECK(reason(q) == "rules[1]");
  CHECK(rules.choose_own(q).reason == "rules[2]");
  q.bytes = 9;
  CHECK(reason(q) == "rules[2]");
  q.link_bits_per_s = 1001;
  CHECK(reason(q) == "no rule matches");
  CHECK(rules.choose({Collective::barrier}).to_string() == "dissemination");
  CHECK(rules.choose({Collective::scan}).algorithm == nullptr);
}

TEST_CASE("the built-in table is for TCP over Ethernet; a profile's decisions may be for anything") {
  Question q = ethernet(Collective::alltoall, 16, 65536);
  CHECK(Rules::defaults().choose(q).algorithm != nullptr);
  q.transport = "other";
  CHECK(Rules::defaults().choose(q).algorithm == nullptr);
  CHECK(contains(Rules::defaults().choose(q).reason, "do not travel by TCP"));
  const Rules profile = Rules::of_profile(R"({"decisions": {"version": 1, "rules": [
    {"collective": "alltoall", "transport": "tcp", "use": "windowed", "why": "tcp"},
    {"collective": "alltoall", "transport": "other", "use": "bruck", "why": "other"}]}})");
  CHECK(profile.choose(q).reason == "other");
  CHECK(profile.decides(q));
  CHECK_FALSE(Rules::defaults().decides(q));
  q.collective = Collective::bcast;
  CHECK_FALSE(profile.decides(q));
  q.collective = Collective::alltoall;
  q.transport = "tcp";
  CHECK(profile.choose(q).reason == "tcp");
  q.transport = "";
  CHECK(profile.choose(q).reason != "other");
}

TEST_CASE("an unknown size matches only rules without a bound on it") {
  const Rules rules = Rules::parse(R"({"version": 1, "rules": [
    {"collective": "alltoallv", "bytes": [0, null], "use": "library", "why": "bounded"},
    {"collective": "alltoallv", "bytes": [null, null], "use": "library", "why": "free"}]})");
  Question q = ethernet(Collective::alltoallv, 4, -1);
  CHECK(rules.choose(q).reason == "free");
  q.bytes = 0;
  CHECK(rules.choose(q).reason == "bounded");
}

TEST_CASE("a rule whose algorithm does not support the problem is passed over") {
  bool seen = false;
  for (const Algorithm* a : algorithms()) {
    Problem ordered;
    ordered.collective = a->collective;
    ordered.size = 8;
    ordered.commutative = false;
    ordered.parameters = resolve_parameters(*a, {});
    if (!is_reduction(a->collective) || supports(*a, ordered)) continue;
    seen = true;
    const Rules rules = Rules::parse(R"({"version": 1, "rules": [{"collective": ")" + std::string(name(a->collective)) +
                                     R"(", "use": ")" + std::string(a->name) + R"("}]})");
    Question q = ethernet(a->collective, 8, 1024);
    if (a->levels) q.max_ranks_per_node = 2;
    q.max_ranks_per_switch = 4;
    CHECK(rules.choose(q).algorithm == a);
    q.commutative = false;
    CHECK(rules.choose(q).algorithm == nullptr);
  }
  CHECK(seen);
}

TEST_CASE("a rule may ask for operands that change places, or not") {
  const Rules rules = Rules::parse(R"({"version": 1, "rules": [
    {"collective": "bcast", "commutative": false, "use": "library", "why": "ordered"},
    {"collective": "*", "use": "library", "why": "any"}]})");
  Question q{Collective::bcast};
  CHECK(rules.choose(q).reason == "any");
  q.commutative = false;
  CHECK(rules.choose(q).reason == "ordered");
}

TEST_CASE("errors of a table name the field") {
  CHECK(contains(format_error("{"), "not valid JSON: parse error at line 1"));
  CHECK(format_error("[]") == "expected an object");
  CHECK(format_error(R"({"rules": []})") == "the field \"version\" is missing");
  CHECK(format_error(R"({"version": 2, "rules": []})") == "version: this Antiphon reads version 1 of rules");
  CHECK(format_error(R"({"version": 1, "rules": {}})") == "rules: expected an array");
  CHECK(format_error(R"({"version": 1, "rules": [3]})") == "rules[0]: expected an object");
  CHECK(contains(format_error(R"({"version": 1, "rules": [], "rule": 1})"), "unknown field \"rule\""));
  CHECK(rule_error(R"("use": "library")") == "rules[0]: the field \"collective\" is missing");
  CHECK(rule_error(R"("collective": "bcast")") == "rules[0]: the field \"use\" is missing");
  CHECK(rule_error(R"("collective": "broadcast", "use": "library")") ==
        "rules[0].collective: \"broadcast\" is not a collective");
  CHECK(contains(rule_error(R"("collective": "bcast", "use": "chian")"),
                 "rules[0].use: bcast has no algorithm \"chian\""));
  CHECK(contains(rule_error(R"("collective": "bcast", "use": 3)"), "rules[0].use: expected a string"));
  CHECK(contains(rule_error(R"("collective": "bcast", "use": "library", "byte": [1, 2])"),
                 "rules[0]: unknown field \"byte\""));
  const std::string before = R"("collective": "bcast", "use": "library", )";
  CHECK(rule_error(before + R"("bytes": 3)") == "rules[0].bytes: expected [min, max]");
  CHECK(rule_error(before + R"("bytes": [1])") == "rules[0].bytes: expected [min, max]");
  CHECK(rule_error(before + R"("bytes": [2, 1])") == "rules[0].bytes: the minimum is above the maximum");
  CHECK(contains(rule_error(before + R"("bytes": [-1, 1])"), "rules[0].bytes[0]: -1 is not within"));
  CHECK(contains(rule_error(before + R"("ranks": [1, 99999999999999999999])"),
                 "rules[0].ranks[1]: expected a whole number"));
  CHECK(contains(rule_error(before + R"("ranks": [1, 18446744073709551615])"),
                 "rules[0].ranks[1]: 18446744073709551615 is not within"));
  CHECK(rule_error(before + R"("nodes": [1.5, 2])") == "rules[0].nodes[0]: expected a whole number");
  CHECK(rule_error(before + R"("commutative": 1)") == "rules[0].commutative: expected true or false");
}

TEST_CASE("a profile's decisions come before the default table") {
  const Question q = ethernet(Collective::alltoall, 16, 65536);
  const Rules plain = Rules::of_profile(R"({"version": 1, "machine": {}})");
  CHECK(plain.choose(q).to_string() == Rules::defaults().choose(q).to_string());
  const Rules fitted = Rules::of_profile(
      R"({"decisions": {"version": 1, "rules": [
           {"collective": "alltoall", "bytes": [65536, 65536], "use": "library", "why": "measured"}]}})");
  CHECK(fitted.choose(q).reason == "measured");
  CHECK(fitted.choose(ethernet(Collective::alltoall, 16, 65537)).algorithm != nullptr);
  CHECK_THROWS_WITH_AS(Rules::of_profile(R"({"decisions": {"version": 1, "rules": [{}]}})"),
                       "decisions.rules[0]: the field \"collective\" is missing", FormatError);
}

TEST_CASE("the default table stays out where it should") {
  for (int c = 0; c < collective_count; ++c) {
    for (const std::int64_t bytes : {-1, 0, 8, 1024, 65536, 1 << 20}) {
      Question q = ethernet(collective(c), 16, bytes);
      q.link_bits_per_s = 0;
      CHECK(Rules::defaults().choose(q).algorithm == nullptr);
      q.link_bits_per_s = 25'000'000'000;
      CHECK(Rules::defaults().choose(q).algorithm == nullptr);
      q = ethernet(collective(c), 16, bytes);
      q.nodes = 1;
      q.max_ranks_per_node = 16;
      CHECK(Rules::defaults().choose(q).algorithm == nullptr);
      CHECK(Rules::defaults().choose(ethernet(collective(c), 2, bytes)).algorithm == nullptr);
    }
  }
}

TEST_CASE("the default table uses Antiphon for long messages on Ethernet") {
  for (int c = 1; c < collective_count; ++c) {
    CAPTURE(name(collective(c)));
    if (collective(c) == Collective::scan || collective(c) == Collective::exscan) continue;
    for (const int ranks : {3, 16, 64})
      CHECK(Rules::defaults().choose(ethernet(collective(c), ranks, 256 * 1024)).algorithm != nullptr);
  }
}

TEST_CASE("the default table has an answer of its own for every question") {
  std::set<std::string> without;
  for (int c = 0; c < collective_count; ++c) {
    for (const int ranks : {1, 2, 3, 4, 7, 16, 24, 64}) {
      for (const std::int64_t bytes : {-1, 0, 1, 100, 5000, 10000, 50000, 1 << 20}) {
        for (const bool commutative : {false, true}) {
          for (const int nodes : {1, ranks}) {
            const Question q{collective(c), ranks, nodes, (ranks + nodes - 1) / nodes, bytes, 8, commutative, 0};
            if (Rules::defaults().choose_own(q).algorithm == nullptr) without.emplace(name(q.collective));
          }
        }
      }
    }
  }
  CHECK(without == std::set<std::string>{});
}

TEST_CASE("every choice of the default table says why") {
  for (int c = 0; c < collective_count; ++c) {
    for (const std::int64_t bytes : {-1, 0, 100, 10000, 100000}) {
      const Choice& choice = Rules::defaults().choose(ethernet(collective(c), 16, bytes));
      CHECK(choice.reason.size() > 10);
      CHECK(choice.reason.rfind("rules[", 0) != 0);
    }
  }
}
