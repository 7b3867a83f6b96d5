// SPDX-License-Identifier: Apache-2.0
#include "multicast/report.hpp"

#include <mpi.h>

#include <array>

#include "multicast/open_groups.hpp"

namespace antiphon::mpi {

Json multicast_row() {
  const MulticastCounts counts = multicast_counts();
  const multicast::Statistics s = multicast_statistics();
  constexpr std::array names{"opened",
                             "refused",
                             "evicted",
                             "data_packets_sent",
                             "data_packets_received",
                             "repaired_packets",
                             "duplicates",
                             "socket_overflows",
                             "forged",
                             "replayed",
                             "foreign",
                             "malformed",
                             "rejoined"};
  const std::array<std::uint64_t, names.size()> own{static_cast<std::uint64_t>(counts.opened),
                                                    static_cast<std::uint64_t>(counts.refused),
                                                    static_cast<std::uint64_t>(counts.evicted),
                                                    s.data_sent,
                                                    s.data_received,
                                                    s.repairs_unicast + s.repairs_multicast,
                                                    s.duplicates,
                                                    s.socket_overflows,
                                                    s.forged,
                                                    s.replayed,
                                                    s.foreign,
                                                    s.malformed,
                                                    s.rejoined};
  std::array<std::uint64_t, names.size()> all{};
  PMPI_Reduce(own.data(), all.data(), static_cast<int>(names.size()), MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (all[0] + all[1] == 0) return nullptr;
  Json row;
  for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = all[i];
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
