// SPDX-License-Identifier: Apache-2.0
// Communicators, made by every constructor and freed at any time.
#include <algorithm>
#include <numeric>

#include "script.hpp"

namespace {

/// Asks MPI what this rank's communicator is, and gives it the number by which its members know it.
void look_at(Script& s, Comm& comm, uint64_t seed) {
  if (comm.handle == MPI_COMM_NULL) return;
  int inter = 0;
  MPI_Group group, world;
  MPI_Comm_test_inter(comm.handle, &inter);
  MPI_Comm_rank(comm.handle, &comm.rank);
  MPI_Comm_size(comm.handle, &comm.size);
  comm.is_inter = inter != 0;
  int first = 0, of_world = 0, other = 0;
  MPI_Comm_group(s.world, &world);
  MPI_Comm_group(comm.handle, &group);
  MPI_Group_translate_ranks(group, 1, &first, world, &of_world);
  MPI_Group_free(&group);
  if (comm.is_inter) {
    MPI_Comm_remote_size(comm.handle, &comm.remote_size);
    MPI_Comm_remote_group(comm.handle, &group);
    MPI_Group_translate_ranks(group, 1, &first, world, &other);
    MPI_Group_free(&group);
    comm.side = of_world > other;
  }
  MPI_Group_free(&world);
  comm.id = hash_of(seed, std::min(of_world, other), std::max(of_world, other));
  if (s.own.chance(20)) MPI_Comm_set_name(comm.handle, comm.made_by);
}

void look_at_grid(Comm& comm, int dimensions) {
  for (int d = 0; d < dimensions; d++) {
    int before = 0, after = 0;
    MPI_Cart_shift(comm.handle, d, 1, &before, &after);
    comm.sources.insert(comm.sources.end(), {before, after});
  }
  comm.targets = comm.sources;
}

int make_grid(Script& s, const Comm& parent, Comm& comm, Rng& rng) {
  const int dimensions = rng.between(1, 3);
  int dims[3] = {0, 0, 0}, periods[3];
  MPI_Dims_create(rng.chance(30) && parent.size > 2 ? parent.size - 1 : parent.size, dimensions, dims);
  for (int& period : periods) period = rng.below(2);
  const int code = MPI_Cart_create(parent.handle, dimensions, dims, periods, rng.below(2), &comm.handle);
  if (comm.handle == MPI_COMM_NULL) return code;
  if (dimensions > 1 && rng.chance(30)) {
    const int remains[3] = {rng.below(2), 1, rng.below(2)};
    MPI_Comm whole = comm.handle;
    s.must(MPI_Cart_sub(whole, remains, &comm.handle), "cart_sub");
    MPI_Comm_free(&whole);
    look_at_grid(comm, remains[0] + 1 + (dimensions > 2 ? remains[2] : 0));
  } else {
    look_at_grid(comm, dimensions);
  }
  return code;
}

/// A ring with some chords, as MPI_Graph_create takes it.
int make_graph(const Comm& parent, Comm& comm, Rng& rng) {
  std::vector<std::vector<int>> near(static_cast<size_t>(parent.size));
  for (int a = 0; a < parent.size; a++) {
    for (int b = a + 1; b < parent.size; b++) {
      if (b != a + 1 && !rng.chance(30)) continue;
      near[static_cast<size_t>(a)].push_back(b);
      near[static_cast<size_t>(b)].push_back(a);
    }
  }
  std::vector<int> index, edges;
  for (const auto& some : near) {
    edges.insert(edges.end(), some.begin(), some.end());
    index.push_back(static_cast<int>(edges.size()));
  }
  edges.push_back(0);  // MPICH takes no null pointer for no edges
  const int code = MPI_Graph_create(parent.handle, parent.size, index.data(), edges.data(), rng.below(2), &comm.handle);
  int rank = 0;
  if (comm.handle == MPI_COMM_NULL) return code;
  MPI_Comm_rank(comm.handle, &rank);
  comm.sources = comm.targets = near[static_cast<size_t>(rank)];
  return code;
}

/// Edges at random, some of them more than once or to oneself.
int make_distributed(const Comm& parent, Comm& comm, Rng& rng) {
  const int density = rng.between(10, 70), doubles = rng.chance(20) ? 15 : 0;
  std::vector<int> sources, targets;
  for (int a = 0; a < parent.size; a++) {
    for (int b = 0; b < parent.size; b++) {
      const int times = rng.chance(density) ? 1 + rng.chance(doubles) : 0;
      if (b == parent.rank) sources.insert(sources.end(), static_cast<size_t>(times), a);
      if (a == parent.rank) targets.insert(targets.end(), static_cast<size_t>(times), b);
    }
  }
  const int in = static_cast<int>(sources.size()), out = static_cast<int>(targets.size());
  comm.sources = sources;
  comm.targets = targets;
  if (rng.chance(70)) {
    return MPI_Dist_graph_create_adjacent(parent.handle, in, sources.data(), MPI_UNWEIGHTED, out, targets.data(),
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm.handle);
  }
  const int one = 1;
  const int code = MPI_Dist_graph_create(parent.handle, one, &parent.rank, &out, targets.data(), MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &comm.handle);
  int weighted = 0, found_in = 0, found_out = 0;
  MPI_Dist_graph_neighbors_count(comm.handle, &found_in, &found_out, &weighted);
  if (found_in != in || found_out != out) return MPI_ERR_TOPOLOGY;
  MPI_Dist_graph_neighbors(comm.handle, in, comm.sources.data(), MPI_UNWEIGHTED, out, comm.targets.data(),
                           MPI_UNWEIGHTED);
  return code;
}

int make_subset(const Comm& parent, Comm& comm, Rng& rng, int tag) {
  std::vector<int> ranks;
  for (int r = 0; r < parent.size; r++)
    if (rng.chance(70)) ranks.push_back(r);
  if (ranks.empty()) ranks.push_back(rng.below(parent.size));
  if (rng.chance(50)) rng.shuffle(ranks);
  const bool is_member = std::find(ranks.begin(), ranks.end(), parent.rank) != ranks.end();
  MPI_Group group, some;
  MPI_Comm_group(parent.handle, &group);
  MPI_Group_incl(group, static_cast<int>(ranks.size()), ranks.data(), &some);
  int code = MPI_SUCCESS;
  if (tag < 0) code = MPI_Comm_create(parent.handle, some, &comm.handle);
  else if (is_member) code = MPI_Comm_create_group(parent.handle, some, tag, &comm.handle);
  MPI_Group_free(&group);
  MPI_Group_free(&some);
  return code;
}

int make_inter(const Comm& parent, Comm& comm, Rng& rng, int tag) {
  if (parent.size < 2) return MPI_SUCCESS;
  const int first = rng.between(1, parent.size - 1);
  const bool is_low = parent.rank < first;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(parent.handle, is_low ? 0 : 1, parent.rank, &half);
  const int code = MPI_Intercomm_create(half, 0, parent.handle, is_low ? first : 0, tag, &comm.handle);
  MPI_Comm_free(&half);
  return code;
}

int make_split(const Comm& parent, Comm& comm, Rng& rng) {
  const int colours = rng.between(1, 4), undefined = rng.chance(30) ? 30 : 0;
  int colour = 0, key = 0;
  for (int r = 0; r < parent.size; r++) {
    const int some_colour = rng.chance(undefined) ? MPI_UNDEFINED : rng.below(colours), some_key = rng.below(4);
    if (r == parent.rank) colour = some_colour, key = some_key;
  }
  return MPI_Comm_split(parent.handle, colour, key, &comm.handle);
}

int make_idup(Script& s, const Comm& parent, Comm& comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Comm_idup(parent.handle, &comm.handle, &request);
  if (s.own.chance(50)) complete(s, false);
  s.must(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait for idup");
  return code;
}

int make_dup_with_info(const Comm& parent, Comm& comm) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_exact_length", "true");
  const int code = MPI_Comm_dup_with_info(parent.handle, info, &comm.handle);
  MPI_Info_free(&info);
  return code;
}

void copy_neighbours(const Comm& parent, Comm& comm) {
  comm.sources = parent.sources;
  comm.targets = parent.targets;
  comm.has_neighbours = parent.has_neighbours;
}

constexpr const char* makers[] = {"dup",          "idup", "dup_with_info", "split",      "split_type", "create",
                                  "create_group", "cart", "graph",         "dist_graph", "inter",      "merge"};

int make(Script& s, int maker, const Comm& parent, Comm& comm, Rng& rng) {
  const int tag = 32000 + s.step % 700;  // beyond those of messages
  switch (maker) {
    case 0: return MPI_Comm_dup(parent.handle, &comm.handle);
    case 1: return make_idup(s, parent, comm);
    case 2: return make_dup_with_info(parent, comm);
    case 3: return make_split(parent, comm, rng);
    case 4: return MPI_Comm_split_type(parent.handle, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm.handle);
    case 5: return make_subset(parent, comm, rng, -1);
    case 6: return make_subset(parent, comm, rng, tag);
    case 7: return make_grid(s, parent, comm, rng);
    case 8: return make_graph(parent, comm, rng);
    case 9: return make_distributed(parent, comm, rng);
    case 10: return make_inter(parent, comm, rng, tag);
    default: return MPI_Intercomm_merge(parent.handle, parent.side, &comm.handle);
  }
}

}  // namespace

void make_comm(Script& s, uint64_t seed) {
  Rng rng(seed);
  const int place = rng.between(1, comm_places - 1);
  int from = rng.below(comm_places);
  free_comm(s, place, rng);
  if (!s.comms[static_cast<size_t>(from)].exists) from = 0;
  const Comm parent = s.comms[static_cast<size_t>(from)];
  int maker = rng.below(11);
  if (parent.is_inter) maker = rng.chance(60) ? 11 : 0;
  Comm comm{.exists = true, .is_inter = maker == 10 || (parent.is_inter && maker == 0), .made_by = makers[maker]};
  comm.has_neighbours = maker >= 7 && maker <= 9;
  if (!parent.is_inter && maker <= 2) copy_neighbours(parent, comm);
  s.doing(comm.made_by, parent);
  if (parent.handle != MPI_COMM_NULL) {
    Rng alike(hash_of(seed, parent.id));
    s.must(make(s, maker, parent, comm, alike), s.describe(comm.made_by, parent));
    if (comm.handle != MPI_COMM_NULL && alike.chance(50)) MPI_Comm_set_errhandler(comm.handle, MPI_ERRORS_RETURN);
  }
  look_at(s, comm, seed);
  comm.is_inter = maker == 10 || (parent.is_inter && maker == 0);
  s.comms[static_cast<size_t>(place)] = std::move(comm);
}

void free_comm(Script& s, int place, Rng& rng) {
  Comm& comm = s.comms[static_cast<size_t>(place)];
  const bool disconnects = rng.chance(12);
  if (!comm.exists || place == 0) return;
  if (disconnects) {
    complete(s, true);
    for (int kept = 0; kept < persistent_places; kept++) free_persistent(s, kept);
  }
  if (comm.handle != MPI_COMM_NULL) {
    s.doing("free", comm);
    s.must(disconnects ? MPI_Comm_disconnect(&comm.handle) : MPI_Comm_free(&comm.handle), "free");
    if (comm.handle != MPI_COMM_NULL) s.fail("free", "the handle is not null");
  }
  comm = {};
}
