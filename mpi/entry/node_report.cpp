// SPDX-License-Identifier: Apache-2.0
#include "entry/node_report.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>

#include "observe/text_table.hpp"
#include "run/node_memory.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::array names{"shared_messages", "shared_bytes", "library_messages", "library_bytes"};

}  // namespace

Json node_row() {
  const NodeTraffic& t = node_traffic;
  const std::array<std::int64_t, names.size()> own{t.shared.messages, t.shared.bytes, t.library.messages,
                                                   t.library.bytes};
  std::array<std::int64_t, names.size()> all{};
  PMPI_Reduce(own.data(), all.data(), static_cast<int>(all.size()), MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (all[0] + all[2] == 0) return nullptr;
  Json row;
  for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = all[i];
  return row;
}

void print_node(std::FILE* out, const Json& row) {
  if (row.is_null()) return;
  const auto way = [&](const std::string& name) {
    return std::to_string(row.at(name + "_messages").as_integer()) + " with " +
           bytes_text(row.at(name + "_bytes").get<double>());
  };
  std::fprintf(out,
               "antiphon: messages within nodes: %s through memory,\n"
               "  %s by the library\n",
               way("shared").c_str(), way("library").c_str());
}

}  // namespace antiphon::mpi
