// SPDX-License-Identifier: Apache-2.0
#include "nodes.hpp"

#include <algorithm>
#include <iterator>

namespace bench {

std::vector<int> node_of_each_rank(MPI_Comm comm, int size) {
  char own[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  PMPI_Get_processor_name(own, &length);
  std::vector<char> all(static_cast<std::size_t>(size) * MPI_MAX_PROCESSOR_NAME);
  PMPI_Allgather(own, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, comm);
  std::vector<std::string> names;
  std::vector<int> nodes;
  for (int r = 0; r < size; ++r) {
    const std::string node = all.data() + static_cast<std::size_t>(r) * MPI_MAX_PROCESSOR_NAME;
    const auto found = std::find(names.begin(), names.end(), node);
    nodes.push_back(static_cast<int>(std::distance(names.begin(), found)));
    if (found == names.end()) names.push_back(node);
  }
  return nodes;
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  PMPI_Get_library_version(text, &length);
  const std::string version = text;
  return version.substr(0, version.find_first_of("\n,"));
}

}  // namespace bench
