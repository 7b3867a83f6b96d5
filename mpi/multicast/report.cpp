// SPDX-License-Identifier: Apache-2.0
#include "multicast/report.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "multicast/open_groups.hpp"

namespace antiphon::mpi {

namespace {

/// One row of the report: a sum over all ranks.
struct Sum {
  const char* name;
  std::uint64_t value;
};

}  // namespace

Json multicast_row() {
  const MulticastCounts counts = multicast_counts();
  const multicast::Statistics s = multicast_statistics();
  const std::array own{
      Sum{"opened", static_cast<std::uint64_t>(counts.opened)},
      Sum{"refused", static_cast<std::uint64_t>(counts.refused)},
      Sum{"evicted", static_cast<std::uint64_t>(counts.evicted)},
      Sum{"data_packets_sent", s.data_sent},
      Sum{"data_packets_received", s.data_received},
      Sum{"repaired_packets", s.repairs_unicast + s.repairs_multicast},
      Sum{"duplicates", s.duplicates},
      Sum{"socket_overflows", s.socket_overflows},
      Sum{"forged", s.forged},
      Sum{"replayed", s.replayed},
      Sum{"foreign", s.foreign},
      Sum{"malformed", s.malformed},
      Sum{"rejoined", s.rejoined},
  };
  std::array<std::uint64_t, own.size()> values{};
  std::array<std::uint64_t, own.size()> all{};
  std::transform(own.begin(), own.end(), values.begin(), [](const Sum& sum) { return sum.value; });
  PMPI_Reduce(values.data(), all.data(), static_cast<int>(all.size()), MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (all[0] + all[1] == 0) return nullptr;
  Json row;
  for (std::size_t i = 0; i < own.size(); ++i) row[own[i].name] = all[i];
  if (!counts.refusal.empty()) row["refusal"] = counts.refusal;
  return row;
}

void print_multicast(std::FILE* out, const Json& row) {
  if (row.is_null()) return;
  const auto number = [&](const char* name) { return static_cast<unsigned long>(row.at(name).get<std::uint64_t>()); };
  std::fprintf(out,
               "antiphon: multicast (sums over ranks): %lu memberships, %lu closed for others; %lu packets sent, %lu "
               "sent again; %lu forged, %lu foreign\n",
               number("opened"), number("evicted"), number("data_packets_sent"), number("repaired_packets"),
               number("forged"), number("foreign"));
  if (number("rejoined") > 0) {
    std::fprintf(out,
                 "  %lu times a rank joined its group anew, since nothing sent to all came: a switch did not know of "
                 "it (IGMP querier? antiphon doctor)\n",
                 number("rejoined"));
  }
  if (row.contains("refusal"))
    std::fprintf(out, "  a group could not be opened: %s\n", row.at("refusal").get<std::string>().c_str());
}

}  // namespace antiphon::mpi
