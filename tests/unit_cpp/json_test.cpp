// SPDX-License-Identifier: Apache-2.0
// Checks schedules and plans as JSON, in both directions.
#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/schedule_json.hpp"
#include "antiphon/verify.hpp"

using namespace antiphon;

namespace {

Plan plan_of(const Algorithm& a, int size, std::int64_t bytes) {
  Case c{a.collective, size, size / 2, bytes};
  c.element_bytes = is_reduction(a.collective) ? 8 : 1;
  c.parameters = resolve_parameters(a, {});
  c.node_sizes = blocked_nodes(size, 2);
  c.switch_sizes = blocked_nodes(size, 4);
  Plan plan{a.collective, std::string(a.name), c.parameters, size, c.root, bytes, c.element_bytes};
  if (!has_root(a.collective)) c.root = plan.root = 0;
  for (const Problem& p : problems_of(c, a.knowledge)) {
    if (!supports(a, p)) return plan_of(a, size == 8 ? 0 : 8, bytes);
    plan.schedules.push_back(a.build(p));
  }
  return plan;
}

/// Makes a schedule document around one operation, after two others, with 100 bytes of scratch memory.
std::string around(const std::string& op) {
  return R"({"version": 1, "scratch_bytes": 100, "ops": [
    {"op": "recv", "peer": 1, "to": ["scratch", 0, 100]},
    {"op": "copy", "from": ["scratch", 0, 4], "to": ["output", 0, 4]}, )" +
         op + "]}";
}

std::string schedule_error(const std::string& text) {
  try {
    (void)schedule_from_json(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

std::string op_error(const std::string& op) { return schedule_error(around(op)); }

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

std::string plan_error(const std::string& what, const std::string& by) {
  static const std::string good = to_json(plan_of(*find_algorithm(Collective::bcast, "chain"), 3, 1000));
  try {
    (void)plan_from_json(replaced(good, what, by));
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every algorithm's schedules survive the round trip") {
  for (const Algorithm* a : algorithms()) {
    CAPTURE(std::string(name(a->collective)) + ":" + std::string(a->name));
    for (const int size : {1, 5, 8}) {
      const Plan plan = plan_of(*a, size, 40000);
      REQUIRE_FALSE(plan.schedules.empty());
      CHECK(plan_from_json(to_json(plan)) == plan);
      for (const Schedule& s : plan.schedules) {
        const Schedule back = schedule_from_json(to_json(s));
        CHECK(back == s);
        CHECK(back.hash() == s.hash());
      }
    }
  }
}

TEST_CASE("every kind of operation, dependency and cut survives") {
  Schedule s;
  const Range buffer = s.scratch(1000);
  const OpId a = s.recv(3, buffer, {}, {16, 2}, 7);
  const OpId b = s.send(0, {Space::input, 5, 1000}, {a, pipelined(a), paced(a, 3), Dep(a, -9)}, {16, 0});
  s.reduce({Space::input, 0, 8}, {Space::output, 8, 8}, {b});
  s.copy(buffer.sub(8, 8), {Space::output, 0, 8}, {a, b}, {0, 5});
  s.send_token(2);
  s.recv_token(1, {Dep(b, INT32_MAX), Dep(a, INT32_MIN + 1)}, 32767);
  CHECK(schedule_from_json(to_json(s)) == s);
}

TEST_CASE("hostile schedules are refused, and the field is named") {
  CHECK(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 1], "after": [0, [1, 0]]})") == "no error");
  CHECK(contains(schedule_error(""), "not valid JSON"));
  CHECK(contains(schedule_error(std::string(100000, '[')), "not valid JSON"));
  CHECK(schedule_error("null") == "expected an object");
  CHECK(contains(schedule_error(R"({"version": 9, "scratch_bytes": 0, "ops": []})"),
                 "version: this Antiphon reads version 1"));
  CHECK(
      contains(schedule_error(R"({"version": 1, "scratch_bytes": -1, "ops": []})"), "scratch_bytes: -1 is not within"));
  CHECK(contains(schedule_error(R"({"version": 1, "scratch_bytes": 1e3, "ops": []})"),
                 "scratch_bytes: expected a whole number"));
  CHECK(contains(schedule_error(
                     R"({"version": 1, "scratch_bytes": 0,
              "ops": [{"op": "recv", "peer": 0, "to": ["input", 0, 0], "after": [0]}]})"),
                 "ops[0].after[0]: the first operation can follow none"));
}

TEST_CASE("hostile operations are refused, and the field is named") {
  CHECK(op_error(R"({"op": "jump"})") ==
        "ops[2].op: expected one of send, recv, copy, reduce, multicast, encode, decode");
  CHECK(op_error(R"({"peer": 0})") == "ops[2]: the field \"op\" is missing");
  CHECK(contains(op_error(R"({"op": "send", "peer": -1, "from": ["input", 0, 1]})"), "ops[2].peer: -1 is not within"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 4294967296, "from": ["input", 0, 1]})"),
                 "ops[2].peer: 4294967296 is not within"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "tag": 40000, "from": ["input", 0, 1]})"), "ops[2].tag"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "to": ["input", 0, 1]})"), "ops[2]: unknown field \"to\""));
  CHECK(contains(op_error(R"({"op": "recv", "peer": 0, "from": ["input", 0, 1]})"), "ops[2]: unknown field \"from\""));
  CHECK(contains(op_error(R"({"op": "copy", "peer": 0})"), "ops[2]: unknown field \"peer\""));
  CHECK(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0]})") ==
        "ops[2].from: expected [space, offset_bytes, bytes]");
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["stack", 0, 1]})"),
                 "ops[2].from[0]: expected one of input, output, scratch"));
  CHECK(
      contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", -8, 1]})"), "ops[2].from[1]: -8 is not within"));
  CHECK(
      contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 9223372036854775807]})"), "ops[2].from[2]"));
  CHECK(op_error(R"({"op": "send", "peer": 0, "from": ["scratch", 1, 100]})") ==
        "ops[2].from: is outside the scratch memory");
  CHECK(contains(op_error(R"({"op": "copy", "from": ["input", 0, 1], "to": ["output", 0, 2]})"),
                 "ops[2]: copy or reduce between ranges of different length"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 1], "cut": [-1, 0]})"), "ops[2].cut[0]"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 1], "cut": 3})"),
                 "ops[2].cut: expected [piece_bytes, window]"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 281474976710656], "cut": [1, 0]})"),
                 "ops[2]: is cut into more than"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 1], "after": 0})"),
                 "ops[2].after: expected an array"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 1], "after": [2]})"),
                 "ops[2].after[0]: 2 is not within 0…1"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 1], "after": [4294967295]})"),
                 "ops[2].after[0]"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 1], "after": [[0, -2147483648]]})"),
                 "ops[2].after[0][1]"));
  CHECK(contains(op_error(R"({"op": "send", "peer": 0, "from": ["input", 0, 1], "after": [[0]]})"),
                 "ops[2].after[0]: expected an operation or"));
}

TEST_CASE("hostile plans are refused, and the field is named") {
  CHECK(contains(plan_error(R"("size":3)", R"("size":4)"), "schedules: expected one a rank, 4"));
  CHECK(contains(plan_error(R"("size":3)", R"("size":0)"), "size: 0 is not within"));
  CHECK(contains(plan_error(R"("root":1)", R"("root":3)"), "root: 3 is not within 0…2"));
  CHECK(contains(plan_error(R"("peer":2)", R"("peer":3)"), "schedules[0].ops[0].peer: 3 is not within 0…2"));
  CHECK(contains(plan_error(R"("bcast")", R"("broadcast")"), "collective: \"broadcast\" is not a collective"));
  CHECK(contains(plan_error(R"("window",)", R"(1,)"), "parameters[1][0]: expected a string"));
  CHECK(contains(plan_error(R"("in_place":false,)", ""), "the field \"in_place\" is missing"));
  CHECK(contains(plan_error(R"("in_place")", R"("in place")"), "unknown field \"in place\""));
  CHECK(contains(plan_error(R"("version":1)", R"("version":"1")"), "version: expected a whole number"));
}
