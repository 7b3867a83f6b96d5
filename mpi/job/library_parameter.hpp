// SPDX-License-Identifier: Apache-2.0
// A parameter of the MPI library whose default does not suit the network or the node.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace antiphon::mpi {

/// What this process sets for one purpose, or why it sets nothing.
struct LibraryParameter {
  std::string about, value, source;  ///< as the summary's facts say it
  /// What is set in the environment; nothing: the library's defaults stay.
  std::vector<std::pair<const char*, const char*>> variables;
};

}  // namespace antiphon::mpi
