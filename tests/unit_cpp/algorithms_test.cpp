// SPDX-License-Identifier: Apache-2.0
// Checks every registered algorithm against the plain reference; the registry supplies the list.
#include <algorithm>
#include <cstdlib>

#include <doctest/doctest.h>

#include "antiphon/verify.hpp"
#include "most_ranks.hpp"
#include "needs_places.hpp"

using namespace antiphon;

namespace {

/// Returns the values worth trying of one parameter: the default, the bounds (kept small), and sizes that do not divide
/// the block. A piece has whole elements, so two bytes would be as good as one.
std::vector<std::int64_t> values_of(const Parameter& p, std::int64_t element_bytes) {
  const std::int64_t unit = p.role == Role::piece ? element_bytes : 1;
  std::vector<std::int64_t> values{p.default_value};
  for (const std::int64_t wanted :
       {p.min, std::int64_t{1}, 2 * unit, 3 * unit, std::int64_t{24}, std::min<std::int64_t>(p.max, 8 * unit)}) {
    if (wanted >= p.min && wanted <= p.max && std::find(values.begin(), values.end(), wanted) == values.end())
      values.push_back(wanted);
  }
  return values;
}

/// Returns the defaults, then each parameter in turn at each of its values, then all parameters mixed.
std::vector<Parameters> parameter_sets(const Algorithm& a, std::int64_t element_bytes) {
  std::vector<Parameters> sets{{}};
  for (const Parameter& p : a.parameters) {
    for (const std::int64_t v : values_of(p, element_bytes)) sets.push_back({{std::string(p.name), v}});
  }
  for (std::size_t mix = 1; mix <= 3 && a.parameters.size() > 1; ++mix) {
    Parameters set;
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      const auto values = values_of(a.parameters[i], element_bytes);
      set.push_back({std::string(a.parameters[i].name), values[(mix * (i + 1) + mix) % values.size()]});
    }
    sets.push_back(set);
  }
  // The schedules are also encoded: once all messages, and once only the longer ones.
  for (const std::int64_t least : {1, 48}) {
    Parameters set = sets.back();
    set.push_back({std::string(encode_parameter), least});
    sets.push_back(set);
  }
  return sets;
}

/// Returns whether the algorithm supports the case.
bool expect_right(const Algorithm& a, const Case& c) {
  const Checked found = check_supported(a, c);
  CHECK_MESSAGE(!found.wrong, found.wrong.value_or(""));
  return found.supported;
}

/// Returns how many cases the algorithm supports.
int sweep(const Algorithm& a, int size, bool in_place, bool commutative) {
  std::uint64_t seed = 1;
  int checked = 0;
  const std::int64_t element_bytes = is_reduction(a.collective) ? 8 : 1;
  for (const Parameters& parameters : parameter_sets(a, element_bytes)) {
    for (const std::int64_t elements : {0, 1, 7, 40}) {
      for (int root = 0; root < (has_root(a.collective) ? size : 1); ++root) {
        // Every root runs with the defaults; a few roots are enough for other parameters.
        if (!parameters.empty() && root != 0 && root != size / 2 && root != size - 1) continue;
        checked += expect_right(a, {a.collective, size, root, elements * element_bytes, element_bytes, commutative,
                                    in_place, ++seed, parameters});
      }
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("every algorithm gives the reference's result for 1 to 17 ranks") {
  const char* only = std::getenv("ANTIPHON_TEST_ONLY");  // e.g. "allgather" or "allgather:ring", while developing
  bool found = false;
  for (const Algorithm* a : algorithms()) {
    const std::string full = std::string(name(a->collective)) + ":" + std::string(a->name);
    if (only != nullptr && full.rfind(only, 0) != 0) continue;
    found = true;
    CAPTURE(full);
    int checked = 0;
    for (int size = 1; size <= most_ranks(17); ++size) {
      for (const bool in_place : {false, true}) {
        checked += sweep(*a, size, in_place, true);
        if (is_reduction(a->collective)) checked += sweep(*a, size, in_place, false);
      }
    }
    CHECK_MESSAGE((checked > 0 || needs_places(*a)), "nothing was checked");
  }
  REQUIRE_MESSAGE(found, "ANTIPHON_TEST_ONLY names no algorithm: ", only == nullptr ? "" : only);
}
