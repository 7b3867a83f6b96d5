// SPDX-License-Identifier: Apache-2.0
#include "observe/network_report.hpp"

#include "job/world.hpp"

namespace antiphon::mpi {

Json network_row() { return to_json(world.network); }

void print_network(std::FILE* out, const Json& row) {
  std::fprintf(out, "antiphon: network: %s\n", row.at("line").as_string().c_str());
}

}  // namespace antiphon::mpi
