// SPDX-License-Identifier: Apache-2.0
// Replays the fuzzers' corpus: each file whole, truncated at many lengths, and with bytes changed.
#include <doctest/doctest.h>

#include "../fuzz/mapping_target.hpp"
#include "../fuzz/phases_target.hpp"
#include "../fuzz/targets.hpp"
#include "replay_corpus.hpp"

using namespace antiphon;

namespace {

void replay(const std::string& folder, bool (*holds)(std::string_view)) {
  const auto changed_byte = [](std::mt19937& random) { return "0123456789-[]{}\",:ne\xff"[random() % 22]; };
  CHECK(replay_corpus(folder, holds, 50, 3, changed_byte) > 3);
}

}  // namespace

TEST_CASE("the corpus of schedules and plans") {
  replay("schedule_json", [](std::string_view text) { return fuzz::schedule(text) && fuzz::plan(text); });
}

TEST_CASE("the corpus of rules and choices") {
  replay("rules", [](std::string_view text) { return fuzz::rules(text) && fuzz::choice(text); });
}

TEST_CASE("the corpus of profiles") { replay("profile", fuzz::profile); }

TEST_CASE("the corpus of what runs have learned") { replay("learned", fuzz::learned); }

TEST_CASE("the corpus of patterns, phases and compiled plans") { replay("phases", fuzz::phases); }

TEST_CASE("the corpus of traffic and machines") { replay("mapping", fuzz::mapping); }
