// SPDX-License-Identifier: Apache-2.0
#include "observe/network_report.hpp"

#include "job/world.hpp"
#include "observe/text_table.hpp"

namespace antiphon::mpi {

Json network_row() { return to_json(world.network); }

void print_network(std::FILE* out, const Json& row) {
  print_note(out, "antiphon: network: ", row.at("line").as_string());
}

}  // namespace antiphon::mpi
