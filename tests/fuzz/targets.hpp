// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "antiphon/error.hpp"
#include "antiphon/matrix.hpp"
#include "antiphon/profile.hpp"
#include "antiphon/replay.hpp"
#include "antiphon/schedule_json.hpp"
#include "antiphon/select.hpp"
#include "antiphon/store.hpp"

/// Properties that hold for any input. Each function returns false if its property fails. The fuzzers use them, and the
/// unit test that replays the corpus.
namespace antiphon::fuzz {

/// What is read and written must read as the same value again, and can be replayed.
inline bool plan(std::string_view text) {
  try {
    const Plan plan = plan_from_json(text);
    if (plan_from_json(to_json(plan)) != plan) return false;
    for (const Clock clock : {Clock::rounds, Clock::bytes}) {
      try {
        (void)replay(plan.schedules, clock, 1, 1 << 14);
      } catch (const InvalidArgument&) {
        // The schedules of a well-formed plan may still not fit together.
      }
    }
    if (plan.size <= 64) (void)traffic_of(plan.schedules);
  } catch (const FormatError&) {
  }
  return true;
}

inline bool schedule(std::string_view text) {
  try {
    const Schedule schedule = schedule_from_json(text);
    return schedule_from_json(to_json(schedule)) == schedule &&
           !schedule.to_string().empty() == !schedule.ops().empty();
  } catch (const FormatError&) {
    return true;
  }
}

/// A table that can be read answers any question, with an answer that parse_choice accepts.
inline bool rules(std::string_view text) {
  for (const auto read : {&Rules::parse, &Rules::of_profile}) {
    try {
      const Rules table = read(text);
      for (int c = 0; c < collective_count; ++c) {
        const Question question{static_cast<Collective>(c), 16, 16, 1, 65536, 1, true, 100'000'000};
        const Choice& choice = table.choose(question);
        if (parse_choice(question.collective, choice.to_string()).parameters != choice.parameters) return false;
        (void)table.choose_own(question);
      }
    } catch (const FormatError&) {
    }
  }
  return true;
}

/// A profile that can be read answers for every scope and size.
inline bool profile(std::string_view text) {
  try {
    const Profile read = Profile::parse(text);
    for (const Scope scope : {Scope::core, Scope::socket, Scope::node, Scope::same_switch, Scope::uplink}) {
      const LinkClass& link = read.link_class(scope);
      for (const std::int64_t bytes : {INT64_C(0), INT64_C(1), INT64_C(65536), INT64_C(1) << 40}) {
        if (!(link.gap.at(bytes) >= 0 && link.send_overhead.at(bytes) >= 0 && link.receive_overhead.at(bytes) >= 0))
          return false;
      }
    }
    return read.port_bytes_per_s() > 0;
  } catch (const FormatError&) {
    return true;
  }
}

/// What a store's file says of runs can be written, merged with itself, and read again as the same.
inline bool learned(std::string_view text) {
  try {
    const Learned read = Learned::parse(text);
    Learned merged = read;
    merged.merge(read);
    const Learned again = Learned::parse(merged.to_json().dump());
    return again.link_bits_per_s == read.link_bits_per_s && again.evidence == read.evidence;
  } catch (const FormatError&) {
    return true;
  }
}

inline bool choice(std::string_view text) {
  try {
    const Choice read = parse_choice(Collective::alltoall, text);
    return parse_choice(Collective::alltoall, read.to_string()).parameters == read.parameters;
  } catch (const InvalidArgument&) {
    return true;
  }
}

}  // namespace antiphon::fuzz
