// SPDX-License-Identifier: Apache-2.0
#include "antiphon/library_algorithms.hpp"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/select.hpp"

using namespace antiphon;

namespace {

const LibraryAlgorithms* open_mpi_5() { return LibraryAlgorithms::of("openmpi Open MPI v5.0.11"); }

}  // namespace

TEST_CASE("library algorithms: parts of calls") {
  const Profile profile = Profile::guess(16, 4, 1e8);
  const Cluster one_each = Cluster::blocked(profile, 16, 1), four_each = Cluster::blocked(profile, 64, 4);
  const auto text = [](const std::optional<std::vector<LibraryPart>>& parts) {
    std::string all;
    if (!parts) return std::string("unknown");
    for (const LibraryPart& p : *parts) {
      constexpr std::array<const char*, 3> among{"all", "node", "leaders"};
      all += std::string(all.empty() ? "" : "; ") + std::string(name(p.call.collective)) + ' ' +
             std::string(p.choice.algorithm->name) + ' ' + std::to_string(p.call.bytes) + " on " +
             std::to_string(p.ranks) + ' ' + among[static_cast<std::size_t>(p.among)] + " x" + std::to_string(p.times);
    }
    return all;
  };
  CHECK(text(open_mpi_5()->parts({Collective::bcast, 65536, 0, 8, true}, one_each)) ==
        "bcast knomial 65536 on 16 all x1");
  CHECK(text(open_mpi_5()->parts({Collective::bcast, 200000, 0, 8, true}, four_each)) ==
        "bcast knomial 65536 on 16 leaders x1; bcast knomial 65536 on 16 leaders x2; "
        "bcast knomial 3392 on 16 leaders x1; bcast flat 65536 on 4 node x1; bcast flat 65536 on 4 node x2; "
        "bcast knomial 3392 on 4 node x1");
  const auto* mpich = LibraryAlgorithms::of("mpich MPICH Version: 4.0.2");
  CHECK(text(mpich->parts({Collective::bcast, 65536, 0, 8, true}, one_each)) ==
        "scatter binomial 4096 on 16 all x1; allgather recursive_doubling 4096 on 16 all x1");
  // Beyond a power of two, pairs reduce a half each, one rank of each pair acts for both, and gives it the whole.
  CHECK(
      text(open_mpi_5()->parts({Collective::allreduce, 16384, 0, 8, true}, Cluster::blocked(profile, 6, 1))) ==
      "reduce rabenseifner 16384 on 2 all x1; allreduce rabenseifner 16384 on 4 all x1; bcast flat 16384 on 2 all x1");
  CHECK(text(open_mpi_5()->parts({Collective::allreduce, 16384, 0, 8, true}, Cluster::blocked(profile, 8, 1))) ==
        "allreduce rabenseifner 16384 on 8 all x1");
  // Open MPI 4.1 does not work node by node.
  const auto* old = LibraryAlgorithms::of("openmpi Open MPI v4.1.4");
  CHECK(text(old->parts({Collective::bcast, 200000, 0, 8, true}, four_each)).find("leaders") == std::string::npos);
  CHECK(LibraryAlgorithms::of("another") == nullptr);
}

TEST_CASE("library algorithms: a prediction of every collective") {
  const Profile profile = Profile::guess(6, 2, 1e9);
  for (const Cluster& cluster : {Cluster::blocked(profile, 6, 1), Cluster::blocked(profile, 12, 2),
                                 Cluster::round_robin(profile, 12, 6), Cluster::blocked(profile, 11, 2)}) {
    for (const char* name : {"openmpi 5.0", "openmpi 4.1", "mpich 5.0", "mpich 4.0"}) {
      for (const Collective c :
           {Collective::bcast, Collective::reduce, Collective::allreduce, Collective::allgather, Collective::alltoall,
            Collective::gather, Collective::scatter, Collective::reduce_scatter_block}) {
        for (const std::int64_t bytes : {8, 8192, 262144}) {
          CAPTURE(name);
          CAPTURE(static_cast<int>(c));
          CAPTURE(bytes);
          const auto seconds = LibraryAlgorithms::of(name)->predict_seconds({c, bytes, 0, 8, true}, cluster);
          REQUIRE(seconds);
          CHECK(*seconds > 0);
          CHECK(std::isfinite(*seconds));
        }
      }
    }
  }
}

TEST_CASE("library algorithms: a root on any node, of which parts among leaders and within nodes have their own") {
  Profile profile = Profile::guess(16, 4, 1e9);
  profile.topology.switches.resize(1);
  profile.topology.switches.push_back({"other", 0, 4 * profile.topology.nodes[0].port_bytes_per_s});
  for (std::size_t node = 8; node < 16; ++node) profile.topology.nodes[node].switch_index = 1;
  const Cluster cluster = Cluster::blocked(profile, 64, 4);
  for (const char* name : {"openmpi 5.0", "openmpi 4.1", "mpich 5.0", "mpich 4.0"}) {
    const LibraryAlgorithms& library = *LibraryAlgorithms::of(name);
    for (const Collective c : {Collective::bcast, Collective::reduce, Collective::gather, Collective::scatter}) {
      CAPTURE(name);
      CAPTURE(antiphon::name(c));
      const double first_s = library.predict_seconds({c, 8192, 0, 8}, cluster).value();
      for (const int root : {5, 40, 63}) {
        CAPTURE(root);
        const PredictedCall call{c, 8192, root, 8};
        const auto seconds = library.predict_seconds(call, cluster);
        REQUIRE(seconds);
        CHECK(*seconds > first_s / 2);
        CHECK(*seconds < first_s * 2);
      }
      CHECK_FALSE(library.predict_seconds({c, 8192, 64, 8}, cluster));
    }
  }
  const auto roots = [&](const LibraryAlgorithms& library, Collective collective, std::int64_t bytes) {
    std::vector<int> list;
    const auto parts = library.parts({collective, bytes, 41, 8}, cluster);
    for (const LibraryPart& part : *parts) list.push_back(part.call.root);
    return list;
  };
  // Open MPI's leaders have the root's place on their nodes, MPICH's are the first; a table may name the root itself.
  CHECK(roots(*open_mpi_5(), Collective::bcast, 8192) == std::vector<int>{10, 1});
  const LibraryAlgorithms& mpich = *LibraryAlgorithms::of("mpich 5.0");
  CHECK(roots(mpich, Collective::bcast, 8192) == std::vector<int>{10, 0});
  CHECK(roots(mpich, Collective::reduce, 8192) == std::vector<int>{0, 0});
}

TEST_CASE("library algorithms: what takes too much work is not taken for long") {
  const Cluster cluster = Cluster::blocked(Profile::guess(16, 4, 1e10), 64, 4);
  const PredictedCall call{Collective::alltoall, 8192};
  PredictionLimits little_work;
  little_work.max_rate_updates = 100;
  CHECK_FALSE(open_mpi_5()->predict_seconds(call, cluster, little_work));
  PredictionLimits little_time;
  little_time.max_seconds = 1e-6;
  const auto longer = open_mpi_5()->predict_seconds(call, cluster, little_time);
  REQUIRE(longer);
  CHECK(std::isinf(*longer));
}

TEST_CASE("library algorithms: a port lets a burst pass once, not before each part") {
  constexpr double port_bits_per_s = 1e8;
  constexpr std::int64_t burst_bytes = 8000, bytes = 8192;
  Profile profile = Profile::guess(6, 1, port_bits_per_s);
  profile.refine_guess({0, 1, burst_bytes, 0, 0});
  const auto seconds = open_mpi_5()->predict_seconds({Collective::allreduce, bytes}, Cluster::blocked(profile, 6, 1));
  REQUIRE(seconds);
  // The first rank sends half of the vector, 3/2 of it among the four that act, and all of it.
  CHECK(*seconds > (3.0 * bytes - burst_bytes) * 8 / port_bits_per_s);
}
