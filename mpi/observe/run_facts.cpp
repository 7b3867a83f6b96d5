// SPDX-License-Identifier: Apache-2.0
#include "observe/run_facts.hpp"

#include <mpi.h>
#include <unistd.h>

#include "antiphon.h"
#include "antiphon/text.hpp"
#include "job/library_traits.hpp"
#include "job/node_name.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

std::string program_name() {
  char path[1024];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

std::string date_text(std::time_t when) {
  char text[32] = "";
  std::tm parts{};
  gmtime_r(&when, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::vector<std::string> node_names() {
  constexpr int length = 64;
  int size = 1;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  char own_name[length] = "";
  host_name().copy(own_name, length - 1);
  std::vector<char> all(static_cast<std::size_t>(size) * length);
  PMPI_Allgather(own_name, length, MPI_CHAR, all.data(), length, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> names;
  for (int r = 0; r < size; ++r) {
    if (world.node_of_rank[static_cast<std::size_t>(r)] == r)
      names.emplace_back(all.data() + static_cast<std::size_t>(r) * length);
  }
  return names;
}

std::string library_title() {
  const std::string version = library_version();
  std::string title;
  // MPICH's text is "MPICH Version:", blanks or a tab, and the number.
  for (const std::string& word : words_of(version.substr(0, version.find_first_of("\n,")))) {
    if (word != "Version:") title += (title.empty() ? "" : " ") + word;
  }
  return title;
}

std::string antiphon_version() {
  return std::to_string(ANTIPHON_VERSION_MAJOR) + '.' + std::to_string(ANTIPHON_VERSION_MINOR) + '.' +
         std::to_string(ANTIPHON_VERSION_PATCH);
}

}  // namespace antiphon::mpi
