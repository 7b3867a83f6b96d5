// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/profile.hpp"
#include "near.hpp"
#include "profile_text.hpp"

using namespace antiphon;

namespace {

/// Returns what the reader says of the document with `from` replaced by `to`.
std::string complaint(const std::string& from, const std::string& to) {
  std::string text = two_switch_profile;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  try {
    (void)Profile::parse(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a curve keeps its jumps") {
  const Curve curve({{0, 1.0}, {100, 2.0}, {100, 5.0}, {200, 6.0}});
  CHECK(curve.at(0) == 1.0);
  CHECK(curve.at(50) == doctest::Approx(1.5));
  CHECK(curve.at(100) == 2.0);
  CHECK(curve.at(101) == doctest::Approx(5.01));
  CHECK(curve.at(300) == doctest::Approx(7.0));
  CHECK(Curve({{10, 3.0}}).at(1) == 3.0);
  CHECK(Curve({{10, 3.0}}).at(100) == 3.0);
  CHECK(Curve({{10, 3.0}, {10, 4.0}}).at(11) == 4.0);
  CHECK(Curve::line(1e-6, 1e9).at(4096) == doctest::Approx(1e-6 + 4.096e-6));
}

TEST_CASE("a profile is read") {
  const Profile profile = Profile::parse(two_switch_profile);
  CHECK(profile.machine.name == "two switches");
  CHECK(profile.machine.mpi == "openmpi");
  CHECK(profile.topology.nodes.size() == 16);
  CHECK(profile.topology.nodes[15].switch_index == 1);
  CHECK(profile.topology.switches[1].parent == 0);
  CHECK(profile.link_class(Scope::core).scope == Scope::node);
  CHECK(profile.link_class(Scope::uplink).name == "across");
  CHECK(profile.link_class(Scope::same_switch).gap.at(65537) == near(5.8e-3, 0.01));
  CHECK(profile.contention.gamma_at(2) == doctest::Approx(0.1));
  CHECK(profile.contention.gamma_at(10) == doctest::Approx(0.25));
  CHECK(profile.contention.gamma_at(99) == doctest::Approx(0.4));
  CHECK(profile.processors.nodes_sharing == 16);
  CHECK(profile.port_bytes_per_s() == doctest::Approx(1.195e7));
}

TEST_CASE("schedules see a node's shared memory where it was measured") {
  std::string text = two_switch_profile;
  const std::string before = R"("g_s": [[0, 1e-6], [1048576, 3e-4]]})";
  const std::size_t place = text.find(before);
  REQUIRE(place != std::string::npos);
  CHECK(Profile::parse(text).sharing_memory().link_class(Scope::node).latency_s == doctest::Approx(1e-6));
  text.replace(place, before.size(),
               R"("g_s": [[0, 1e-6], [1048576, 3e-4]],
                  "shared_memory": {"latency_s": 2e-7, "g_s": [[0, 1e-9], [1048576, 1e-4]],
                                    "fetched_from_bytes": 8192}})");
  const Profile profile = Profile::parse(text);
  CHECK(profile.link_class(Scope::node).gap.at(1048576) == doctest::Approx(3e-4));
  const Profile sharing = profile.sharing_memory();
  const LinkClass& shared = sharing.link_class(Scope::node);
  CHECK(shared.latency_s == doctest::Approx(2e-7));
  CHECK(shared.gap.at(1048576) == doctest::Approx(1e-4));
  CHECK(shared.receive_overhead.at(1048576) == doctest::Approx(1e-4));
  CHECK(shared.send_overhead.at(4096) == doctest::Approx(shared.gap.at(4096)));
  for (const std::int64_t fetched : {8192, 1048576}) CHECK(shared.send_overhead.at(fetched) == doctest::Approx(1e-9));
  CHECK(sharing.link_class(Scope::same_switch).latency_s == doctest::Approx(3.5e-5));
  text.replace(text.find("2e-7"), 4, "\"x\" ");
  CHECK_THROWS_AS(Profile::parse(text), FormatError);
}

TEST_CASE("what a port lacks with several senders is told by what lost nothing") {
  const auto ratios_with = [](const std::string& also) {
    std::string text = two_switch_profile;
    const std::string known = R"("ratio": 1.6})";
    text.replace(text.find(known), known.size(),
                 R"("ratio": 1.6}, {"senders": 7, "bytes": 26480, "ratio": 14)" + also + "}");
    std::vector<double> ratios;
    for (const auto& entry : Profile::parse(text).contention.incast) ratios.push_back(entry.ratio);
    return ratios;
  };
  CHECK(ratios_with("") == std::vector{1.6, 14.0});
  CHECK(ratios_with(R"(, "lost": 0, "trials": 5)") == std::vector{1.6, 14.0});
  CHECK(ratios_with(R"(, "lost": 2, "trials": 3)") == std::vector{1.6});
}

TEST_CASE("turns by the number of ranks on a core") {
  std::string text = two_switch_profile;
  const std::string known = R"("nodes_sharing": 16)";
  const auto with = [&](const std::string& turns) {
    std::string changed = text;
    return changed.replace(changed.find(known), known.size(), known + R"(, "turns_s": )" + turns);
  };
  const Profile profile = Profile::parse(with("[[2, 1e-6], [7.5, 2e-6]]"));
  CHECK(profile.processors.turns.size() == 2);
  CHECK(profile.processors.turn_with(7.5) == doctest::Approx(2e-6));
  CHECK_THROWS_WITH_AS((void)Profile::parse(with("[[2, 1e-6], [2, 2e-6]]")),
                       "processors.turns_s[1]: numbers of ranks must increase", FormatError);
  CHECK_THROWS_WITH_AS((void)Profile::parse(with("[[2, 1e-6, 3]]")),
                       "processors.turns_s[0]: expected [ranks on a core, seconds]", FormatError);
}

TEST_CASE("a profile that is not one says which field") {
  CHECK(complaint("antiphon-profile", "something") ==
        "format: not a profile: \"something\" instead of \"antiphon-profile\"");
  CHECK(complaint("\"version\": 1,", "\"version\": 7,")
            .find("version: this profile has version 7, this Antiphon reads version 1") == 0);
  CHECK(complaint("\"nodes\": 16,", "\"nodes\": \"x\",") == "machine.nodes: expected a whole number");
  CHECK(complaint("[65536, 5.8e-3]", "[65536, -1]").find("link_classes[1].g_s[2][1]: -1 is not within") == 0);
  CHECK(complaint("[65536, 5.8e-3]", "[65536, 1, 1]") == "link_classes[1].g_s[2]: expected [bytes, seconds]");
  CHECK(complaint("[65536, 5.8e-3]", "[5, 5.8e-3]") == "link_classes[1].g_s[2]: sizes must not decrease");
  CHECK(complaint("[1048576, 8.8e-2]", "[65536, 8.8e-2]") ==
        "link_classes[1].g_s[3]: a size may occur twice at most (a jump)");
  CHECK(complaint("\"scope\": \"switch\"", "\"scope\": \"far\"").find("link_classes[1].scope: expected") == 0);
  CHECK(complaint("\"scope\": \"switch\"", "\"scope\": \"node\"") ==
        "link_classes[1]: a second class of scope \"node\"");
  CHECK(complaint("\"parent\": \"a\"", "\"parent\": \"b\"") == "topology.switches[1].parent: there is no switch \"b\"");
  CHECK(complaint("\"switch\": \"b\"", "\"switch\": \"c\"") == "topology.nodes[1].switch: there is no switch \"c\"");
  CHECK(complaint("\"latency_s\"", "\"latency\"").find("link_classes[0]: unknown field \"latency\"") == 0);
  CHECK(complaint("\"gamma\": 0.4", "\"gamma\": null").find("contention.gamma[1].gamma: expected a number") == 0);
  CHECK(complaint("\"ranks\": 16", "\"ranks\": 4") == "contention.gamma[1]: numbers of ranks must increase");
  CHECK_THROWS_WITH_AS((void)Profile::parse("[]"),
                       "not a profile: expected an object with \"format\": \"antiphon-profile\"", FormatError);
  CHECK_THROWS_WITH_AS((void)Profile::parse("{}"),
                       "not a profile: the field \"format\" is missing (expected \"antiphon-profile\")", FormatError);
  const std::string text = two_switch_profile;
  for (std::size_t length = 0; length < text.rfind('}'); length += 7) {
    CHECK_THROWS_AS((void)Profile::parse(text.substr(0, length)), FormatError);
  }
}

TEST_CASE("a guess from the links' rate has the links' rate") {
  const Profile profile = Profile::guess(16, 1, 1e8);
  CHECK(profile.first_guess);
  CHECK(profile.port_bytes_per_s() == near(11.955e6, 0.001));
  const LinkClass& link = profile.link_class(Scope::uplink);
  CHECK(1e6 / (link.gap.at(2000000) - link.gap.at(1000000)) == near(11.955e6, 0.001));
}
