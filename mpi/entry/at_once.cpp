// SPDX-License-Identifier: Apache-2.0
#include "entry/at_once.hpp"

#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "entry/comm_shape.hpp"

namespace antiphon::mpi {

namespace {

bool holds_back(const Parameter& parameter) { return parameter.role == Role::ahead; }

}  // namespace

std::optional<std::int64_t> port_bytes_at_once(const Choice& choice, const Problem& p, int max_ranks_per_node) {
  if (p.collective != Collective::alltoall || choice.algorithm->levels) return std::nullopt;
  if (std::ranges::none_of(choice.algorithm->parameters, holds_back)) return std::nullopt;
  return p.bytes * static_cast<std::int64_t>(blocks_on_link(p.collective, p.size, max_ranks_per_node));
}

Choice at_once(const Choice& choice) {
  Choice changed = choice;
  const auto& parameters = choice.algorithm->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (holds_back(parameters[i])) changed.parameters[i].value = parameters[i].max;
  }
  return changed;
}

}  // namespace antiphon::mpi
