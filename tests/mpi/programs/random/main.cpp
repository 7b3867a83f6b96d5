// SPDX-License-Identifier: Apache-2.0
/* random SEED [steps=N] [threads=N] [omit=A-B,C,…] [scratch=DIR] [patience=S] [tell=1]
 *
 * All ranks derive the same calls from a seed, and each checks every result. Prints "verified" where all is right, and
 * before it the classes of errors that were made on purpose. `omit` leaves steps out, and no other one changes by that:
 * so a script that fails is made shorter. */
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "script.hpp"

namespace {

struct Options {
  uint64_t seed = 1;
  int steps = 150, threads = 1, patience_s = 30;
  const char* omit = "";
  const char* scratch = nullptr;
  bool tells = false;
};

constexpr int most_threads = 8;

Options options;
Where places[most_threads];
std::atomic<bool> has_ended{false};
int world_rank, world_size;

bool is_omitted(int step) {
  for (const char* at = options.omit; *at != 0;) {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10), last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
    if (first <= step && step <= last) return true;
    at = *end == ',' ? end + 1 : "";
  }
  return false;
}

void take_step(Script& s, int kind, uint64_t seed) {
  if (kind < 18) run_collective(s, seed, Form::blocking);
  else if (kind < 38) run_collective(s, seed, Form::nonblocking);
  else if (kind < 45) init_persistent(s, seed);
  else if (kind < 55) start_persistent(s, seed);
  else if (kind < 57) free_persistent(s, static_cast<int>(seed % persistent_places));
  else if (kind < 66) repeat_collective(s, seed);
  else if (kind < 76) exchange_messages(s, seed);
  else if (kind < 80) exchange_in_ring(s, seed);
  else if (kind < 90) make_comm(s, seed);
  else if (kind < 92) {
    Rng rng(seed);
    free_comm(s, rng.between(1, comm_places - 1), rng);
  } else if (kind < 93) use_window(s, seed);
  else if (kind < 94) use_file(s, seed);
  else if (kind < 96) pack_and_send(s, seed);
  else if (kind < 98) make_errors(s, seed);
  else use_attributes(s, seed);
}

void end_script(Script& s) {
  complete(s, true);
  MPI_Request_free(&s.idle);
  for (int place = 0; place < persistent_places; place++) free_persistent(s, place);
  Rng rng(s.seed);
  for (int place = 1; place < comm_places; place++) free_comm(s, place, rng);
}

void* run_script(void* given) {
  Script& s = *static_cast<Script*>(given);
  Rng script(s.seed);
  for (s.step = 0; s.step < options.steps; s.step++) {
    const int kind = script.below(100);
    const uint64_t seed = script.next();
    s.where->step = s.step;
    s.own = Rng(hash_of(s.seed, s.world_rank, s.step));
    if (is_omitted(s.step)) continue;
    if (s.own.chance(4)) usleep(static_cast<useconds_t>(s.own.below(3000)));
    take_step(s, kind, seed);
    if (s.under_way.size() > most_under_way || s.own.chance(15)) complete(s, s.under_way.size() > most_under_way);
  }
  end_script(s);
  return nullptr;
}

/// Where nothing moves for long, tells where each rank is, and ends the run.
void* watch(void*) {
  int idle_s = 0, before = -1;
  while (!has_ended) {
    sleep(1);
    int sum = 0;
    for (const Where& place : places) sum += place.step;
    idle_s = sum == before ? idle_s + 1 : 0;
    before = sum;
    if (idle_s < options.patience_s) continue;
    for (int t = 0; t < options.threads; t++) {
      std::fprintf(stderr, "hangs: seed %lu rank %d thread %d step %d: %s on %s\n", options.seed, world_rank, t,
                   places[t].step.load(), places[t].doing.load(), places[t].comm);
    }
    sleep(3);  // so that the other ranks can tell
    _exit(9);
  }
  return nullptr;
}

Options parsed(int argc, char** argv) {
  Options o;
  if (argc > 1) o.seed = std::strtoull(argv[1], nullptr, 10);
  for (int i = 2; i < argc; i++) {
    const std::string word = argv[i];
    const auto at = word.find('=');
    const std::string name = word.substr(0, at);
    const char* value = at == std::string::npos ? "" : argv[i] + at + 1;
    if (name == "steps") o.steps = std::atoi(value);
    else if (name == "threads") o.threads = std::min(std::atoi(value), most_threads);
    else if (name == "omit") o.omit = value;
    else if (name == "scratch") o.scratch = value;
    else if (name == "patience") o.patience_s = std::atoi(value);
    else if (name == "tell") o.tells = true;
  }
  return o;
}

void set_up(Script& s, int thread) {
  s.seed = hash_of(options.seed, thread);
  s.thread = thread;
  s.world_rank = world_rank;
  s.where = &places[thread];
  s.scratch = options.scratch;
  if (options.threads > 1) MPI_Comm_dup(MPI_COMM_WORLD, &s.world);
  Comm& world = s.comms[0];
  world.handle = s.world;
  world.exists = true;
  world.made_by = "world";
  world.rank = world_rank;
  world.size = world_size;
  world.id = s.seed;
  MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, 1, s.world, &s.idle);
}

void tell_errors(const std::string& mine) {
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<size_t>(world_size)), starts(lengths.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  int whole = 0;
  for (size_t r = 0; r < lengths.size(); r++) {
    starts[r] = whole;
    whole += lengths[r];
  }
  std::string all(static_cast<size_t>(whole), ' ');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (world_rank == 0) std::printf("errors%s\nverified\n", all.c_str());
}

void run_threads(std::vector<Script>& scripts) {
  std::vector<pthread_t> threads(scripts.size());
  if (scripts.size() == 1) run_script(scripts.data());
  else
    for (size_t t = 0; t < scripts.size(); t++) pthread_create(&threads[t], nullptr, run_script, &scripts[t]);
  for (size_t t = 0; scripts.size() > 1 && t < scripts.size(); t++) pthread_join(threads[t], nullptr);
}

}  // namespace

void Script::doing(const char* what, const Comm& comm) {
  where->doing = what;
  std::snprintf(where->comm, sizeof where->comm, "%s of %d", comm.made_by, comm.size);
  if (!options.tells) return;
  std::fprintf(stderr, "rank %d thread %d step %d: %s on %s, rank %d of side %d, %lx\n", world_rank, thread, step, what,
               where->comm, comm.rank, comm.side, comm.id);
}

std::string Script::describe(const char* call, const Comm& comm) const {
  return "step " + std::to_string(step) + " thread " + std::to_string(thread) + ": " + call + " on " + comm.made_by +
         " of " + std::to_string(comm.size) + (comm.is_inter ? " and " + std::to_string(comm.remote_size) : "") +
         " as " + std::to_string(comm.rank);
}

void Script::fail(const std::string& what, const std::string& detail) const {
  std::fprintf(stderr, "wrong: seed %lu rank %d (at step %d): %s: %s\n", options.seed, world_rank, step, what.c_str(),
               detail.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

void Script::must(int code, const std::string& what) const {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(what, text);
}

void Script::finish(Operation& o, const MPI_Status& status) const {
  if (o.judge_status) {
    const std::string problem = o.judge_status(status);
    if (!problem.empty()) fail(o.what, problem);
  }
  for (Area* area : {&o.send, &o.receive}) {
    const std::string difference = area->difference();
    if (!difference.empty()) fail(o.what, (area == &o.send ? "sent: " : "received: ") + difference);
  }
}

int main(int argc, char** argv) {
  options = parsed(argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, options.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (options.threads > 1 && provided < MPI_THREAD_MULTIPLE) options.threads = 1;
  pthread_t watchdog;
  pthread_create(&watchdog, nullptr, watch, nullptr);
  Bytes room(8 << 20);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  std::vector<Script> scripts(static_cast<size_t>(options.threads));
  for (size_t t = 0; t < scripts.size(); t++) set_up(scripts[t], static_cast<int>(t));
  run_threads(scripts);
  std::string errors;
  for (const Script& s : scripts) errors += s.errors;
  if (options.threads > 1)
    for (Script& s : scripts) MPI_Comm_free(&s.world);
  tell_errors(errors);
  void* at = nullptr;
  int size = 0;
  MPI_Buffer_detach(&at, &size);
  MPI_Finalize();
  has_ended = true;
  pthread_join(watchdog, nullptr);
  return 0;
}
