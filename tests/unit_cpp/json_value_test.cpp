// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "json/json.hpp"

using antiphon::Json;
using antiphon::JsonError;

TEST_CASE("a JSON value is written as it is read") {
  const std::string text =
      R"({"a":[1,-2,2.5,1e+300,18446744073709551615],"b":{"c":null,"d":true},"e":"\"\\\n\u0001é"})";
  CHECK(Json::parse(text).dump() == text);
  CHECK(Json::parse("[[],{},[0]]").dump(2) == "[\n  [],\n  {},\n  [\n    0\n  ]\n]");
  CHECK(Json(1.0).dump() == "1.0");
  CHECK(Json("\xff").dump() == "\"\xef\xbf\xbd\"");
}

TEST_CASE("braces make an object of pairs that begin with a string, otherwise an array") {
  CHECK(Json({{"b", 1}, {"a", {1, "x", nullptr}}}).dump() == R"({"b":1,"a":[1,"x",null]})");
  CHECK(Json({{"b", 1}, {"a", false}}).sorted().dump() == R"({"a":false,"b":1})");
  CHECK(Json({{"b", 1}, {2, 3}}).dump() == R"([["b",1],[2,3]])");
  CHECK(Json(std::vector<std::vector<int>>{{1}, {}}).dump() == "[[1],[]]");
}

TEST_CASE("members are found, set and erased; the last of equal keys counts") {
  Json value = Json::parse(R"({"z":1,"a":2,"z":3})");
  CHECK(value.dump() == R"({"a":2,"z":3})");
  value["n"]["m"] = 4;
  value.erase("a");
  CHECK(value.sorted() == Json::parse(R"({"z":3.0,"n":{"m":4}})"));
  CHECK(value.at("n").at("m").get<int>() == 4);
  CHECK(value.value("none", 5) == 5);
  CHECK(value.find("none") == nullptr);
}

TEST_CASE("what is not there or of another type is an error") {
  const Json value = Json::parse(R"({"a":["x"]})");
  CHECK_THROWS_WITH_AS((void)value.at("b"), "key 'b' not found", JsonError);
  CHECK_THROWS_WITH_AS((void)value.at("a").get<int>(), "type must be number, but is array", JsonError);
  CHECK_THROWS_AS((void)value.at("a").at(std::size_t{1}), JsonError);
  CHECK_THROWS_AS(Json::parse("[1,"), JsonError);
  CHECK_THROWS_AS(Json::parse("1e999"), JsonError);
}

TEST_CASE("a document of great depth is refused, as copies and texts of it would take the whole stack") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(Json(Json::parse(nested(256))).dump() == nested(256));
  CHECK_THROWS_WITH_AS(Json::parse(nested(257)), "values are nested in more than 256 others", JsonError);
  CHECK_THROWS_AS(Json::parse(nested(1000000)), JsonError);
  CHECK_THROWS_AS(Json::parse(R"({"a":)" + nested(300) + "}"), JsonError);
}

TEST_CASE("what is built up to a great depth is destroyed without recursion") {
  Json value = Json::array({});
  for (int level = 0; level < 1000000; ++level) {
    Json outer = Json::array({});
    outer.push_back(std::move(value));
    value = std::move(outer);
  }
  CHECK(value.size() == 1);
}
