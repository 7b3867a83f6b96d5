// SPDX-License-Identifier: Apache-2.0
#include "entry/node_report.hpp"

#include <array>
#include <string>

#include "observe/summed_row.hpp"
#include "observe/text_table.hpp"
#include "run/node_memory.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::array<const char*, 4> names{"shared_messages", "shared_bytes", "library_messages", "library_bytes"};

}  // namespace

Json node_row() {
  const NodeTraffic& t = node_traffic;
  return summed_row<names.size()>(names, {t.shared.messages, t.shared.bytes, t.library.messages, t.library.bytes});
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
