// SPDX-License-Identifier: Apache-2.0
// Where ranks really are, by name.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace antiphon::mpi {

/// The name of the node of each rank of `comm`, on its rank 0; elsewhere empty. Collective.
std::vector<std::string> gather_host_names(MPI_Comm comm);

/// Where ANTIPHON_NODES says that a rank is.
struct GivenPlace {
  std::string node;
  int socket = -1;  ///< -1: it does not say
};
/// This rank's; null without ANTIPHON_NODES.
const GivenPlace* own_given_place();
/// "node01*4,node02*4", or with sockets "node01/0*2,node01/1*2": each rank's place in the order of ranks. Empty where
/// it is wrong.
std::vector<GivenPlace> parse_places(const std::string& text);

}  // namespace antiphon::mpi
