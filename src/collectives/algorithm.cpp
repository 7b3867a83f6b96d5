// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"

#include <algorithm>
#include <string>

#include "antiphon/error.hpp"
#include "schedule/encoded.hpp"
#include "schedule/order.hpp"

namespace antiphon {

std::vector<const Algorithm*> algorithms_for(Collective collective) {
  std::vector<const Algorithm*> found;
  for (const Algorithm* a : algorithms()) {
    if (a->collective == collective) found.push_back(a);
  }
  return found;
}

const Algorithm* find_algorithm(Collective collective, std::string_view wanted) {
  for (const Algorithm* a : algorithms()) {
    if (a->collective == collective && a->name == wanted) return a;
  }
  return nullptr;
}

const Algorithm* find_algorithm(Collective collective, bool (*wanted)(const Algorithm&)) {
  for (const Algorithm* a : algorithms()) {
    if (a->collective == collective && wanted(*a)) return a;
  }
  return nullptr;
}

Parameters resolve_parameters(const Algorithm& algorithm, const Parameters& given) {
  Parameters resolved;
  for (const Parameter& p : algorithm.parameters) resolved.push_back({std::string(p.name), p.default_value});
  const auto full_name = [&] { return std::string(name(algorithm.collective)) + ":" + std::string(algorithm.name); };
  std::int64_t encode_bytes = 0;
  for (const ParameterValue& g : given) {
    if (g.name == encode_parameter) {
      if (g.value < 0) throw InvalidArgument(full_name() + ": encode=" + std::to_string(g.value) + " is negative");
      encode_bytes = g.value;
      continue;
    }
    const auto slot = std::find_if(resolved.begin(), resolved.end(), [&](const auto& r) { return r.name == g.name; });
    if (slot == resolved.end()) throw InvalidArgument(full_name() + " has no parameter " + g.name);
    const Parameter& p = algorithm.parameters[static_cast<std::size_t>(slot - resolved.begin())];
    if (g.value < p.min || g.value > p.max) {
      throw InvalidArgument(full_name() + ": " + g.name + "=" + std::to_string(g.value) + " is not within " +
                            std::to_string(p.min) + "…" + std::to_string(p.max));
    }
    slot->value = g.value;
  }
  if (encode_bytes > 0) resolved.push_back({std::string(encode_parameter), encode_bytes});
  return resolved;
}

bool may_reorder(const Algorithm& algorithm, bool commutative) {
  if (algorithm.multicasts || (is_reduction(algorithm.collective) && !commutative)) return false;
  switch (algorithm.collective) {
    case Collective::barrier:
    case Collective::bcast:
    case Collective::reduce:
    case Collective::allreduce: return true;
    case Collective::scan:
    case Collective::exscan: return false;
    default: return algorithm.any_order;
  }
}

namespace {

void check_tags(const Schedule& schedule) {
  const auto ops = schedule.ops();
  if (std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.tag < 0 || op.tag >= schedule_tags; }))
    throw Error("a schedule's tag is out of bounds");
}

}  // namespace

Schedule build_schedule(const Algorithm& algorithm, const Problem& p) {
  Schedule plain = p.order.empty() ? algorithm.build(p) : with_ranks(algorithm.build(in_places(p)), p.order);
  check_tags(plain);
  if (p.parameters.empty() || p.parameters.back().name != encode_parameter) return plain;
  return encoded(plain, p.parameters.back().value, p.in_place);
}

}  // namespace antiphon
