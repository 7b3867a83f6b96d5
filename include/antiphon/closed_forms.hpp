// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "antiphon/algorithm.hpp"
#include "antiphon/profile.hpp"

namespace antiphon {

/// What a closed form is a function of.
struct ClosedFormCall {
  int ranks = 1;                   ///< P
  std::int64_t bytes = 0;          ///< m
  std::int64_t segment_bytes = 0;  ///< s of the segmented ones; 0: one segment
  int concurrency = 2;             ///< C of paper 4
  double gamma = 0;                ///< paper 5, Section 5
};

/// A row of the papers' tables: the time of a collective on one kind of link, without contention unless it says so.
struct ClosedForm {
  Collective collective;
  std::string_view name;
  std::string_view formula;  ///< as the paper has it
  std::string_view source;   ///< which paper, which table or equation
  double (*seconds)(const ClosedFormCall& call, const LinkClass& link);
};

/// All of them, by collective.
std::span<const ClosedForm> closed_forms();
const ClosedForm* find_closed_form(Collective collective, std::string_view name);

/// The closed form that an algorithm with these parameters follows, evaluated; nothing where there is none.
std::optional<double> closed_form_of(const Algorithm& algorithm, const Parameters& parameters, int ranks,
                                     std::int64_t bytes, const LinkClass& link);

/// The segment size with the least cost (paper 5, Section 3): all m/2^i of at least `least_bytes`, then hill-climbing
/// around the best one in steps that halve.
std::int64_t search_segment_bytes(std::int64_t bytes, std::int64_t least_bytes,
                                  const std::function<double(std::int64_t segment_bytes)>& cost);

}  // namespace antiphon
