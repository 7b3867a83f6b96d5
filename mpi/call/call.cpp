// SPDX-License-Identifier: Apache-2.0
#include "call/call.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace antiphon::mpi {

namespace {

/// These are the names of Form's values in their order, without the first.
constexpr std::array<std::string_view, form_count - 1> form_names{"alltoallw",           "neighbor_allgather",
                                                                  "neighbor_allgatherv", "neighbor_alltoall",
                                                                  "neighbor_alltoallv",  "neighbor_alltoallw"};

std::vector<std::string> all_kind_names() {
  std::vector<std::string> names;
  for (int c = 0; c < collective_count; ++c) names.emplace_back(name(static_cast<Collective>(c)));
  names.insert(names.end(), form_names.begin(), form_names.end());
  for (int kind = 0; kind < blocking_kind_count; ++kind) names.push_back('i' + names[static_cast<std::size_t>(kind)]);
  return names;
}

}  // namespace

bool has_equal_blocks(int kind) {
  kind %= blocking_kind_count;
  if (kind >= collective_count) {
    const auto form = static_cast<Form>(kind - collective_count + 1);
    return form == Form::neighbor_alltoall || form == Form::neighbor_allgather;
  }
  const auto collective = static_cast<Collective>(kind);
  return collective != Collective::alltoallv && collective != Collective::scatterv && collective != Collective::gatherv;
}

const std::string& kind_name(int kind) {
  static const std::vector<std::string> names = all_kind_names();
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace antiphon::mpi
