// SPDX-License-Identifier: Apache-2.0
#include "call/call.hpp"

#include <array>

namespace antiphon::mpi {

namespace {

/// These are the names of Form's values in their order, without the first.
constexpr std::array<std::string_view, form_count - 1> form_names{"alltoallw",           "neighbor_allgather",
                                                                  "neighbor_allgatherv", "neighbor_alltoall",
                                                                  "neighbor_alltoallv",  "neighbor_alltoallw"};

}  // namespace

bool has_equal_blocks(int kind) {
  if (kind >= collective_count) {
    const auto form = static_cast<Form>(kind - collective_count + 1);
    return form == Form::neighbor_alltoall || form == Form::neighbor_allgather;
  }
  const auto collective = static_cast<Collective>(kind);
  return collective != Collective::alltoallv && collective != Collective::scatterv && collective != Collective::gatherv;
}

std::string_view kind_name(int kind) {
  return kind < collective_count ? name(static_cast<Collective>(kind))
                                 : form_names[static_cast<std::size_t>(kind - collective_count)];
}

}  // namespace antiphon::mpi
