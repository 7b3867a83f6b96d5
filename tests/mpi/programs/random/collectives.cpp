// SPDX-License-Identifier: Apache-2.0
// Collectives: drawn, prepared, called, repeated, and kept as persistent ones.
#include <unistd.h>

#include <algorithm>

#include "script.hpp"

namespace {

constexpr const char* names[] = {
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
};

constexpr Kind for_inter[] = {Kind::barrier,  Kind::bcast,  Kind::allgather,
                              Kind::alltoall, Kind::reduce, Kind::allreduce};

/// Mostly few elements, now and then many; of all ranks together at most about a MiB.
long draw_count(Rng& rng, int ranks) {
  const int kind = rng.below(100);
  long most = 24;
  if (kind < 6) return 0;
  if (kind >= 60) most = 600;
  if (kind >= 85) most = 6000;
  if (kind >= 97) most = 60000;
  const long count = 1 + static_cast<long>(rng.next() % static_cast<uint64_t>(most));
  return rng.chance(20) ? std::max(1L, count / 12 * 12) : std::min(count, 150000L / ranks);
}

Kind draw_kind(Rng& rng, const Comm& comm) {
  if (comm.is_inter) return for_inter[rng.below(6)];
  if (comm.has_neighbours && rng.chance(60)) return static_cast<Kind>(rng.between(17, 21));
  return static_cast<Kind>(rng.below(17));
}

bool is_reduction(Kind kind) { return kind >= Kind::reduce && kind <= Kind::exscan; }

bool can_be_in_place(Kind kind) { return kind > Kind::bcast && kind < Kind::neighbor_allgather; }

/// Says that a rank's own data is in its receive buffer, as each call wants it said.
void put_in_place(Operation& o, const Spec& spec, const Comm& comm) {
  const bool is_rooted = spec.kind == Kind::gather || spec.kind == Kind::gatherv || spec.kind == Kind::scatter ||
                         spec.kind == Kind::scatterv || spec.kind == Kind::reduce;
  if (is_rooted && comm.rank != spec.root) return;
  if (spec.kind == Kind::scatter || spec.kind == Kind::scatterv) o.recvbuf = MPI_IN_PLACE;
  else o.sendbuf = MPI_IN_PLACE;
}

/// Gives the buffer as a type of absolute addresses. The type must have one block.
void move_to_bottom(Operation& o, const Spec& spec, Rng& rng) {
  if (spec.kind == Kind::bcast && o.rcount > 0 && !o.receive.is_empty()) {
    o.rtype = at_address(o.receive.blocks()[0].layout, o.rcount, o.recvbuf);
    o.own_types.push_back(o.rtype);
    o.recvbuf = MPI_BOTTOM;
    o.rcount = 1;
  } else if (o.send.blocks().size() == 1 && o.scount > 0 && !is_reduction(spec.kind) && rng.chance(70)) {
    o.stype = at_address(o.send.blocks()[0].layout, o.scount, o.sendbuf);
    o.own_types.push_back(o.stype);
    o.sendbuf = MPI_BOTTOM;
    o.scount = 1;
  }
}

/// Replaces what no MPI may look at on this rank.
void make_wild(Operation& o, const Spec& spec, const Comm& comm) {
  if (comm.rank == spec.root || comm.is_inter) return;
  if (spec.kind == Kind::gather || spec.kind == Kind::gatherv) {
    o.recvbuf = nullptr;
    o.rcount = -3;
    o.rtype = MPI_DATATYPE_NULL;
  } else if (spec.kind == Kind::scatter || spec.kind == Kind::scatterv) {
    o.sendbuf = nullptr;
    o.scount = -3;
    o.stype = MPI_DATATYPE_NULL;
  }
}

const char* form_of(const Operation& o) {
  constexpr const char* forms[] = {"", "i", "init "};
  return forms[static_cast<int>(o.form)];
}

void start(Script& s, Operation& o, const std::string& what, uint64_t seed) {
  o.what = what;
  o.fill(seed);
  s.must(o.issue(), o.what);
}

/// What one iteration changes of a call that is repeated.
enum class Change { none, nearly, alternating, growing, patterns };

void change(Spec& spec, Change how, int i, Rng& rng) {
  const long first = spec.count;
  switch (how) {
    case Change::none: return;
    case Change::nearly: spec.count = std::max(0L, first + rng.between(-1, 1)); return;
    case Change::alternating: spec.count = i % 2 == 0 ? first : first / 3 + 1; return;
    case Change::growing: spec.count = first * (i + 1) / 3 + 1; return;
    case Change::patterns: spec.counts_seed += static_cast<uint64_t>(rng.chance(50)); return;
  }
}

std::string described(const Script& s, const Comm& comm, const Spec& spec, const Operation& o) {
  const std::string call = std::string(form_of(o)) + name_of(spec.kind) + (spec.large ? "_c" : "") +
                           (spec.in_place ? " in place" : "") + " of " + std::to_string(spec.count);
  return s.describe(call.c_str(), comm);
}

void wait_for(Script& s, Operation& o) {
  MPI_Status status{};
  if (o.form != Form::blocking) s.must(MPI_Wait(&o.request, &status), "wait for " + o.what);
  s.finish(o, status);
}

}  // namespace

const char* name_of(Kind kind) { return names[static_cast<int>(kind)]; }

Spec draw_spec(Rng& rng, const Comm& comm, Form form) {
  Spec spec;
  spec.kind = draw_kind(rng, comm);
  // MPICH 5.0's nonblocking ones between groups receive wrong bytes.
  spec.form = comm.is_inter ? Form::blocking : form;
#ifdef HAVE_LARGE
  spec.large = rng.chance(20);
#endif
  spec.in_place = rng.chance(25) && can_be_in_place(spec.kind) && !comm.is_inter;
#ifdef OPEN_MPI
  const bool is_safe = form == Form::blocking;  // Open MPI's other calls read handles that are freed
#else
  const bool is_safe = true;
#endif
  spec.frees_early = rng.chance(50) && is_safe;
  spec.from_bottom = rng.chance(10);
  spec.null_if_empty = rng.chance(50) && spec.kind < Kind::neighbor_allgather;
  spec.is_wild = rng.chance(50);
  spec.root = rng.below(comm.is_inter ? (comm.side == 0 ? comm.size : comm.remote_size) : comm.size);
  spec.count = draw_count(rng, std::max(comm.size, comm.remote_size));
  spec.shape_seed = rng.next();
  spec.counts_seed = rng.next();
  return spec;
}

std::unique_ptr<Operation> prepare(const Spec& spec, const Comm& comm) {
  auto o = std::make_unique<Operation>();
  Rng mine(hash_of(spec.shape_seed, comm.rank, 77));
  o->kind = spec.kind;
  o->form = spec.form;
  o->large = spec.large;
  o->comm = comm.handle;
  o->frees_early = spec.frees_early;
  if (is_reduction(spec.kind)) add_reduction(*o, spec, comm);
  else if (spec.kind >= Kind::neighbor_allgather) add_neighbours(*o, spec, comm);
  else add_movement(*o, spec, comm);
  o->send.allocate(mine);
  o->receive.allocate(mine);
  o->sendbuf = spec.null_if_empty && o->send.is_empty() ? nullptr : o->send.at();
  o->recvbuf = spec.null_if_empty && o->receive.is_empty() ? nullptr : o->receive.at();
  if (spec.in_place) put_in_place(*o, spec, comm);
  else if (spec.from_bottom) move_to_bottom(*o, spec, mine);
  if (spec.is_wild) make_wild(*o, spec, comm);
  return o;
}

void run_collective(Script& s, uint64_t seed, Form form) {
  Rng place(seed);
  const Comm& comm = s.comm_at(place.below(comm_places));
  if (comm.handle == MPI_COMM_NULL) return;
  Rng rng(hash_of(seed, comm.id));
  const Spec spec = draw_spec(rng, comm, form);
  auto o = prepare(spec, comm);
  const std::string what = described(s, comm, spec, *o);
  s.doing(name_of(spec.kind), comm);
  start(s, *o, what, rng.next());
  if (o->frees_early) o->free_handles();
  if (o->form == Form::blocking) s.finish(*o, {});
  else s.under_way.push_back(std::move(o));
}

void repeat_collective(Script& s, uint64_t seed) {
  Rng place(seed);
  const Comm& comm = s.comm_at(place.below(comm_places));
  if (comm.handle == MPI_COMM_NULL) return;
  Rng rng(hash_of(seed, comm.id));
  const Spec first = draw_spec(rng, comm, rng.chance(70) ? Form::blocking : Form::nonblocking);
  Spec spec = first;
  const auto how = static_cast<Change>(rng.below(5));
  const int times = first.count > 3000 ? rng.between(3, 8) : rng.between(3, 30);
  const bool moves = rng.chance(30);
  const int late = rng.chance(30) ? rng.below(comm.size) : -1;
  std::unique_ptr<Operation> o;
  s.doing(name_of(spec.kind), comm);
  for (int i = 0; i < times; i++) {
    spec.count = first.count;
    change(spec, how, i, rng);
    if (o == nullptr || how != Change::none || moves) o = prepare(spec, comm);
    if (comm.rank == late && s.own.chance(40)) usleep(static_cast<useconds_t>(s.own.below(2000)));
    start(s, *o, described(s, comm, spec, *o) + ", time " + std::to_string(i), rng.next());
    wait_for(s, *o);
  }
}

void init_persistent(Script& s, uint64_t seed) {
#ifdef HAVE_PERSISTENT
  Rng place(seed);
  const int kept = place.below(persistent_places);
  const Comm& comm = s.comm_at(place.below(comm_places));
  free_persistent(s, kept);
  if (comm.handle == MPI_COMM_NULL || comm.is_inter) return;
  Rng rng(hash_of(seed, comm.id));
  const Spec spec = draw_spec(rng, comm, Form::persistent);
  auto o = prepare(spec, comm);
  s.doing("init", comm);
  start(s, *o, described(s, comm, spec, *o), rng.next());
  if (o->frees_early) o->free_handles();
  s.persistent[static_cast<size_t>(kept)].operation = std::move(o);
#else
  (void)s, (void)seed;
#endif
}

/// Starts some, in the same order on all ranks, one by one or together, and maybe often.
void start_persistent(Script& s, uint64_t seed) {
  Rng rng(seed);
  const int times = rng.chance(30) ? rng.between(2, 20) : 1;
  const uint64_t chosen = rng.next();
  const bool together = rng.chance(50);
  for (int i = 0; i < times; i++) {
    const uint64_t data = rng.next();
    std::vector<Script::Kept*> started;
    std::vector<MPI_Request> requests;
    for (int at = 0; at < persistent_places; at++) {
      Script::Kept& kept = s.persistent[static_cast<size_t>(at)];
      if ((chosen >> at) % 3 != 0 || kept.operation == nullptr) continue;
      if (kept.is_active) wait_for(s, *kept.operation);
      kept.is_active = true;
      kept.operation->fill(hash_of(data, at));
      started.push_back(&kept);
      requests.push_back(kept.operation->request);
    }
    if (started.empty()) return;
    s.where->doing = "start";
    if (together) s.must(MPI_Startall(static_cast<int>(requests.size()), requests.data()), "startall");
    for (size_t at = 0; at < started.size(); at++) {
      if (!together) s.must(MPI_Start(&started[at]->operation->request), "start " + started[at]->operation->what);
      else started[at]->operation->request = requests[at];
    }
  }
}

void free_persistent(Script& s, int place) {
  Script::Kept& kept = s.persistent[static_cast<size_t>(place)];
  if (kept.operation == nullptr) return;
  if (kept.is_active) wait_for(s, *kept.operation);
  kept.is_active = false;
  s.must(MPI_Request_free(&kept.operation->request), "free " + kept.operation->what);
  kept.operation.reset();
}
