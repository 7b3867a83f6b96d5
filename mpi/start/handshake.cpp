// SPDX-License-Identifier: Apache-2.0
#include "start/handshake.hpp"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>
#include <string>

#include "job/start_tree.hpp"
#include "job/warn.hpp"
#include "start/identity.hpp"
#include "start/job_data.hpp"

namespace antiphon::mpi {

namespace {

constexpr int tag = 27182;
constexpr int nobody = INT_MAX;
#if ANTIPHON_ABI_OPENMPI
constexpr const JobData* ways[] = {&pmix_data};
#else
constexpr const JobData* ways[] = {&pmix_data, &pmi_data};
#endif

/// Sends only between processes that are still in MPI_Init, so no receive of the program can take these messages.
class Handshake {
 public:
  Handshake(const JobData& way, const StartTree& tree) : way_(way), tree_(tree) {}

  /// Returns the lowest rank that is missing or different, as far as this rank's part of the tree knows, or nobody.
  /// Those that do not take part are cut out of the tree: each part that remains has a neighbour that is missing, and
  /// finds it.
  int run() {
    int found = nobody;
    for (const int child : tree_.children()) found = std::min(found, takes_part(child) ? receive(child) : child);
    const int parent = tree_.parent();
    if (tree_.rank > 0 && takes_part(parent)) {
      send(found, parent);
      found = receive(parent);
    } else if (tree_.rank > 0) {
      found = std::min(found, parent);
    }
    for (const int child : tree_.children()) {
      if (takes_part(child)) send(found, child);
    }
    return found;
  }

  /// Tells whether no lower rank has an object that would speak.
  bool is_lowest() {
    for (int lower = 0; lower < tree_.rank; ++lower) {
      if (!text_of(lower).empty()) return false;
    }
    return true;
  }

  const std::string& text_of(int rank) {
    const auto [place, is_new] = texts_.try_emplace(rank);
    if (is_new) place->second = way_.text_of(rank);
    return place->second;
  }

 private:
  bool takes_part(int rank) { return text_of(rank) == identity(); }

  static int receive(int rank) {
    int value = nobody;
    wait_for_message(rank, tag);
    PMPI_Recv(&value, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
  }
  static void send(int value, int rank) { PMPI_Send(&value, 1, MPI_INT, rank, tag, MPI_COMM_WORLD); }

  const JobData& way_;
  StartTree tree_;
  std::map<int, std::string> texts_;
};

void say_why(Handshake& handshake, int which) {
  if (!handshake.is_lowest()) return;
  const std::string& other = handshake.text_of(which);
  const std::string who = "rank " + std::to_string(which);
  if (other.empty()) {
    warn_left_alone(who + " does not load libantiphon-" ANTIPHON_ABI
                          ".so as this rank does (hint: set LD_PRELOAD for all ranks)");
  } else {
    warn_left_alone(who + " loads " + describe_identity(other) + ", this rank " + describe_identity(identity()) +
                    " (hint: the same installation on all nodes)");
  }
}

/// Where nothing can be asked, the user may vouch for it.
bool is_promised(int rank) {
  const char* promise = std::getenv("ANTIPHON_ALL_RANKS");
  if (promise != nullptr && std::string(promise) == "1") return true;
  if (rank == 0)
    warn_left_alone(
        "cannot find out whether every rank loads it, because neither PMIx nor Hydra started this job "
        "(hint: if every rank does, set ANTIPHON_ALL_RANKS=1)");
  return false;
}

}  // namespace

void announce() {
  for (const JobData* way : ways) way->before_init(identity());
}

bool all_take_part() {
  const StartTree tree = StartTree::of_world();
  const JobData* way = nullptr;
  for (const JobData* candidate : ways) {
    if (candidate->own_rank() == tree.rank && way == nullptr) way = candidate;
  }
  if (tree.size == 1) return true;
  if (way == nullptr) return is_promised(tree.rank);
  Handshake handshake(*way, tree);
  const int which = handshake.run();
  if (which != nobody) say_why(handshake, which);
  return which == nobody;
}

}  // namespace antiphon::mpi
