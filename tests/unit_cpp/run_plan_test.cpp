// SPDX-License-Identifier: Apache-2.0
// Plans of `antiphon plan`: what is read, what is refused, and whose rules decide.
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/run_plan.hpp"
#include "antiphon/select.hpp"

using namespace antiphon;

namespace {

const std::string head =
    R"({"format": "antiphon-plan", "version": 2, "made_for": {"program": "./p", "ranks": 4, "nodes": 2})";
const std::string rules =
    R"({"version": 1, "rules": [{"collective": "bcast", "ranks": [4, 4], "stride": [3, 3], "bytes": [512, 767],
        "use": "binomial", "saves_s": 0.5}]})";

RunPlan read(const std::string& more) { return run_plan_from_json(head + more + "}"); }

/// Returns the message of the error that reading must end with.
std::string refusal(const std::string& text) {
  try {
    run_plan_from_json(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a plan is read, and an older one has patterns alone") {
  const RunPlan plan = read(R"(, "placement": {"nodes": [{}, {}], "node_of_rank": [0, 1, 1, 0], "saves_s": 1.5})");
  CHECK(plan.ranks == 4);
  CHECK(plan.nodes == 2);
  CHECK(plan.placed == std::vector<int>{0, 1, 1, 0});
  CHECK(plan.placement_saves_s == 1.5);
  CHECK(plan.decisions.empty());
  const std::string pattern =
      R"({"collective": "alltoallv", "synchronisation": "none", "cut": [0, 1], "size": 2, "scheduler": "x",
          "saves_ns": 7, "phases": [{"parts": [[0, 1, 0, 5]]}]})";
  CHECK(read(", \"patterns\": [" + pattern + "]").patterns.at(0).saves_ns == 7);
  const RunPlan old = run_plan_from_json("{\"version\": 1, \"patterns\": [" + pattern + "]}");
  CHECK(old.ranks == 0);
  CHECK(old.patterns.size() == 1);
}

TEST_CASE("what is wrong with a plan is named") {
  CHECK(refusal(head + R"(, "other": 1})").find("other") != std::string::npos);
  CHECK(refusal(R"({"format": "antiphon-plan", "version": 3})").find("version") == 0);
  CHECK(refusal(R"({"format": "something", "version": 2})").find("format") == 0);
  CHECK(refusal(head + R"(, "placement": {"nodes": [{}], "node_of_rank": [0, 0]}})").find("placement.node_of_rank") ==
        0);
  CHECK(refusal(head + R"(, "placement": {"nodes": [{}], "node_of_rank": [0, 0, 0, 1]}})")
            .find("placement.node_of_rank[3]") == 0);
  CHECK(refusal(head + R"(, "decisions": {"version": 1, "rules": [{"collective": "bcast", "use": "none such"}]}})")
            .find("decisions.rules[0].use") == 0);
  CHECK(refusal(R"({"format": "antiphon-plan", "version": 2, "made_for": {"ranks": 2, "nodes": 3}})")
            .find("made_for.nodes") == 0);
}

TEST_CASE("a plan's rules come first, for the communicators that they name") {
  const std::string profile =
      R"({"decisions": {"version": 1, "rules": [{"collective": "bcast", "use": "chain", "why": "measured"}]}})";
  const Rules table = Rules::of_run(read(", \"decisions\": " + rules).decisions, profile);
  Question question{.collective = Collective::bcast, .ranks = 4, .nodes = 2, .bytes = 600};
  question.stride = 3;
  CHECK(table.decides(question));
  CHECK(table.choose(question).planned);
  CHECK(table.choose(question).algorithm->name == "binomial");
  CHECK(table.choose(question).saves_s == 0.5);
  for (const auto& [stride, bytes] : {std::pair{1, 600}, std::pair{3, 800}, std::pair{0, 600}}) {
    question.stride = stride;
    question.bytes = bytes;
    CHECK_FALSE(table.choose(question).planned);
    CHECK(table.choose(question).reason == "measured");
  }
}
