// SPDX-License-Identifier: Apache-2.0
// What a thread of a rank knows: its communicators, what is under way, and its place in the script.
#pragma once

#include <array>
#include <atomic>

#include "operation.hpp"

/// One rank's side of a communicator. All ranks of a script know which places hold one, and of which kind it is.
struct Comm {
  MPI_Comm handle = MPI_COMM_NULL;
  bool exists = false;  // on some rank
  bool is_inter = false;
  bool has_neighbours = false;
  const char* made_by = "";
  int rank = 0, size = 0;
  int side = 0, remote_size = 0;  // of an intercommunicator
  uint64_t id = 0;                // the same for all members
  std::vector<int> sources{}, targets{};
};

/// How a collective is called. All members draw the same one.
struct Spec {
  Kind kind = Kind::barrier;
  Form form = Form::blocking;
  bool large = false, in_place = false, frees_early = false, from_bottom = false, null_if_empty = false;
  bool is_wild = false;  // arguments that are not significant are nonsense
  int root = 0;
  long count = 0;  // elements of a block, or about so many
  uint64_t shape_seed = 0, counts_seed = 0;
};

struct Where {
  std::atomic<int> step{-1};
  std::atomic<const char*> doing{""};
  char comm[400] = "";  // or what is being completed
};

constexpr int comm_places = 12, persistent_places = 8, most_under_way = 24;

struct Script {
  uint64_t seed = 0;
  int thread = 0;
  int world_rank = 0;
  MPI_Comm world = MPI_COMM_WORLD;  // this thread's
  std::array<Comm, comm_places> comms;
  struct Kept {
    std::unique_ptr<Operation> operation;
    bool is_active = false;
  };
  std::array<Kept, persistent_places> persistent;
  std::vector<std::unique_ptr<Operation>> under_way;
  MPI_Request idle = MPI_REQUEST_NULL;  // a persistent one that never starts; MPICH 5.0 waits for collective ones
  Rng own{0};                           // this rank's alone
  Where* where = nullptr;
  const char* scratch = nullptr;
  std::string errors;  // classes of errors that were made on purpose
  int step = 0;

  void doing(const char* what, const Comm& comm);
  /// Ends the run, and says what is wrong.
  void fail(const std::string& what, const std::string& detail) const;
  void must(int code, const std::string& what) const;
  /// A place that holds a communicator; place 0 always does.
  Comm& comm_at(int place) { return comms[static_cast<size_t>(comms[static_cast<size_t>(place)].exists ? place : 0)]; }
  std::string describe(const char* call, const Comm& comm) const;
  /// Judges what has ended.
  void finish(Operation& operation, const MPI_Status& status) const;
};

// Steps. `seed` is the same on all ranks.
void make_comm(Script& s, uint64_t seed);
void free_comm(Script& s, int place, Rng& rng);
void run_collective(Script& s, uint64_t seed, Form form);
void repeat_collective(Script& s, uint64_t seed);
void init_persistent(Script& s, uint64_t seed);
void start_persistent(Script& s, uint64_t seed);
void free_persistent(Script& s, int place);
void exchange_messages(Script& s, uint64_t seed);
void exchange_in_ring(Script& s, uint64_t seed);
void use_window(Script& s, uint64_t seed);
void use_file(Script& s, uint64_t seed);
void pack_and_send(Script& s, uint64_t seed);
void make_errors(Script& s, uint64_t seed);
void use_attributes(Script& s, uint64_t seed);

/// Completes some of what is under way, or all, in this rank's own order.
void complete(Script& s, bool all);

const char* name_of(Kind kind);
Spec draw_spec(Rng& rng, const Comm& comm, Form form);
std::unique_ptr<Operation> prepare(const Spec& spec, const Comm& comm);
void add_reduction(Operation& o, const Spec& spec, const Comm& comm);
void add_movement(Operation& o, const Spec& spec, const Comm& comm);
void add_neighbours(Operation& o, const Spec& spec, const Comm& comm);
/// Where blocks of these counts lie, in extents.
std::vector<long> places_of(const std::vector<long>& counts, Rng& rng);
