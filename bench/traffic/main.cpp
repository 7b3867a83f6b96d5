// SPDX-License-Identifier: Apache-2.0
/// Makes collective calls and reports what crossed each node's network interfaces meanwhile.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include "../probe/loss.hpp"
#include "antiphon/text.hpp"

namespace {

const char* const usage =
    "usage: mpirun … antiphon-traffic CASE…        (normally started by `antiphon traffic --verify`)\n"
    "  CASE   COLLECTIVE:BYTES:ROOT:CALLS, bytes of a block; reductions take them as doubles\n"
    "Prints one JSON object a case on stdout: the bytes and packets of each node's interfaces.\n";

/// Time for acknowledgements and late messages of a library to pass before a reading.
constexpr useconds_t settle_us = 60000;

struct Case {
  std::string collective;
  int bytes = 0, root = 0, calls = 0;
};

struct Counters {
  double sent_bytes = 0, sent_packets = 0, received_bytes = 0, received_packets = 0;
  double sent_again = 0;  ///< TCP segments
};

/// Sums all interfaces of this network namespace except the loopback.
Counters read_counters() {
  constexpr std::size_t received = 0, sent = 8;  // Where bytes are after the name; packets are next to them.
  Counters sum;
  for (const std::string& line : antiphon::lines_of_file("/proc/self/net/dev")) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || antiphon::words_of(line.substr(0, colon)) == std::vector<std::string>{"lo"})
      continue;
    const std::vector<std::string> values = antiphon::words_of(line.substr(colon + 1));
    if (values.size() < sent + 2) continue;
    const auto value = [&](std::size_t place) { return std::strtod(values[place].c_str(), nullptr); };
    sum.received_bytes += value(received);
    sum.received_packets += value(received + 1);
    sum.sent_bytes += value(sent);
    sum.sent_packets += value(sent + 1);
  }
  sum.sent_again = probe::retransmitted_segments();
  return sum;
}

Case parse(const std::string& text) {
  Case c;
  std::vector<std::string> part = antiphon::split(text, ':');
  part.resize(4);
  c.collective = part[0];
  c.bytes = std::atoi(part[1].c_str());
  c.root = std::atoi(part[2].c_str());
  c.calls = std::atoi(part[3].c_str());
  return c;
}

class Caller {
 public:
  Caller(const Case& c, int size) : c_(c), n_(c.bytes), elements_(c.bytes / 8) {
    const auto all = static_cast<std::size_t>(c.bytes) * static_cast<std::size_t>(size) + 8;
    in_.resize(all);
    out_.resize(all);
    for (int i = 0; i < size; ++i) {
      counts_.push_back(n_);
      offsets_.push_back(i * n_);
      element_counts_.push_back(elements_);
    }
  }

  /// Returns false if there is no such collective.
  bool call() {
    const MPI_Comm w = MPI_COMM_WORLD;
    char* in = in_.data();
    char* out = out_.data();
    const std::string& name = c_.collective;
    if (name == "nothing") return true;
    if (name == "barrier") return MPI_Barrier(w) == MPI_SUCCESS;
    if (name == "bcast") return MPI_Bcast(out, n_, MPI_BYTE, c_.root, w) == MPI_SUCCESS;
    if (name == "scatter") return MPI_Scatter(in, n_, MPI_BYTE, out, n_, MPI_BYTE, c_.root, w) == MPI_SUCCESS;
    if (name == "scatterv")
      return MPI_Scatterv(in, counts_.data(), offsets_.data(), MPI_BYTE, out, n_, MPI_BYTE, c_.root, w) == MPI_SUCCESS;
    if (name == "gather") return MPI_Gather(in, n_, MPI_BYTE, out, n_, MPI_BYTE, c_.root, w) == MPI_SUCCESS;
    if (name == "gatherv")
      return MPI_Gatherv(in, n_, MPI_BYTE, out, counts_.data(), offsets_.data(), MPI_BYTE, c_.root, w) == MPI_SUCCESS;
    if (name == "allgather") return MPI_Allgather(in, n_, MPI_BYTE, out, n_, MPI_BYTE, w) == MPI_SUCCESS;
    if (name == "allgatherv")
      return MPI_Allgatherv(in, n_, MPI_BYTE, out, counts_.data(), offsets_.data(), MPI_BYTE, w) == MPI_SUCCESS;
    if (name == "alltoall") return MPI_Alltoall(in, n_, MPI_BYTE, out, n_, MPI_BYTE, w) == MPI_SUCCESS;
    if (name == "alltoallv") {
      return MPI_Alltoallv(in, counts_.data(), offsets_.data(), MPI_BYTE, out, counts_.data(), offsets_.data(),
                           MPI_BYTE, w) == MPI_SUCCESS;
    }
    if (name == "reduce") return MPI_Reduce(in, out, elements_, MPI_DOUBLE, MPI_SUM, c_.root, w) == MPI_SUCCESS;
    if (name == "allreduce") return MPI_Allreduce(in, out, elements_, MPI_DOUBLE, MPI_SUM, w) == MPI_SUCCESS;
    if (name == "reduce_scatter")
      return MPI_Reduce_scatter(in, out, element_counts_.data(), MPI_DOUBLE, MPI_SUM, w) == MPI_SUCCESS;
    if (name == "reduce_scatter_block")
      return MPI_Reduce_scatter_block(in, out, elements_, MPI_DOUBLE, MPI_SUM, w) == MPI_SUCCESS;
    if (name == "scan") return MPI_Scan(in, out, elements_, MPI_DOUBLE, MPI_SUM, w) == MPI_SUCCESS;
    if (name == "exscan") return MPI_Exscan(in, out, elements_, MPI_DOUBLE, MPI_SUM, w) == MPI_SUCCESS;
    return false;
  }

 private:
  const Case& c_;
  int n_, elements_;
  std::vector<char> in_, out_;
  std::vector<int> counts_, offsets_, element_counts_;
};

void settle() {
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(settle_us);
}

/// Returns the node of each rank; nodes are numbered in the order of their first ranks.
std::vector<int> find_nodes(int rank, int size) {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int first = rank;
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  std::vector<int> firsts(static_cast<std::size_t>(size));
  MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::map<int, int> number;
  for (const int f : firsts) number.emplace(f, 0);
  int next = 0;
  for (auto& [f, index] : number) index = next++;
  for (int& f : firsts) f = number[f];
  return firsts;
}

void print(const Case& c, const std::vector<int>& node_of_rank, const std::vector<double>& all) {
  std::printf("{\"collective\": \"%s\", \"bytes\": %d, \"root\": %d, \"calls\": %d, \"node_of_rank\": [",
              c.collective.c_str(), c.bytes, c.root, c.calls);
  for (std::size_t r = 0; r < node_of_rank.size(); ++r) std::printf("%s%d", r == 0 ? "" : ", ", node_of_rank[r]);
  std::printf("], \"nodes\": [");
  int node = 0;
  for (std::size_t r = 0; r < node_of_rank.size(); ++r) {
    if (node_of_rank[r] != node) continue;  // a node's first rank reports for it
    const double* d = &all[5 * r];
    std::printf(
        "%s{\"sent_bytes\": %.0f, \"sent_packets\": %.0f, \"received_bytes\": %.0f, \"received_packets\": %.0f, "
        "\"sent_again\": %.0f}",
        node == 0 ? "" : ", ", d[0], d[1], d[2], d[3], d[4]);
    ++node;
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

void measure(const Case& c, int rank, int size, const std::vector<int>& node_of_rank) {
  Caller caller(c, size);
  if (!caller.call()) {  // the first call sets up connections, and communicators of the library's own
    if (rank == 0) std::fprintf(stderr, "there is no collective \"%s\"\n", c.collective.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  settle();
  const Counters before = read_counters();
  MPI_Barrier(MPI_COMM_WORLD);  // nobody may send before all have read
  for (int i = 0; i < c.calls; ++i) caller.call();
  settle();
  const Counters after = read_counters();
  MPI_Barrier(MPI_COMM_WORLD);
  const double mine[] = {after.sent_bytes - before.sent_bytes, after.sent_packets - before.sent_packets,
                         after.received_bytes - before.received_bytes, after.received_packets - before.received_packets,
                         after.sent_again - before.sent_again};
  std::vector<double> all(5 * static_cast<std::size_t>(size));
  MPI_Gather(mine, 5, MPI_DOUBLE, all.data(), 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) print(c, node_of_rank, all);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2 && rank == 0) std::fputs(usage, stderr);
  const std::vector<int> node_of_rank = find_nodes(rank, size);
  for (int i = 1; i < argc; ++i) measure(parse(argv[i]), rank, size, node_of_rank);
  MPI_Finalize();
  return argc < 2 ? 2 : 0;
}
