/* SPDX-License-Identifier: Apache-2.0 */
/* Makes each call with large counts, blocking, nonblocking and persistent, and compares what it brings with the call
 * with small counts. What is not significant on a rank is rubbish. Prints "verified" or what is wrong.
 * Where the library has no large counts: "refusals" tries counts that do not fit `int` in messages, and
 * "refusals collectives" also in collectives that the library does. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { most_ranks = 8, block = 6, most = most_ranks * block, root = 1 };

static int rank, size;
static long wrong;
static int mine[most], got[most], wanted[most], *to;
static int counts[most_ranks], places[most_ranks], byte_places[most_ranks], same[most_ranks];
static MPI_Count large_counts[most_ranks], large_same[most_ranks];
static MPI_Aint large_places[most_ranks], large_byte_places[most_ranks];
static MPI_Datatype types[most_ranks];
static const MPI_Count too_many = ((MPI_Count)1 << 31) + 5;
static void* volatile nowhere = (void*)16;

static void prepare(void) {
  for (int r = 0; r < most_ranks; r++) {
    counts[r] = 1 + (r + rank) % 4; /* symmetric: as many go to a rank as come from it */
    same[r] = 1 + r % 4;
    places[r] = (most_ranks - 1 - r) * block;
    byte_places[r] = places[r] * (int)sizeof(int);
    types[r] = MPI_INT;
    large_counts[r] = counts[r];
    large_same[r] = same[r];
    large_places[r] = places[r];
    large_byte_places[r] = byte_places[r];
  }
  for (int i = 0; i < most; i++) mine[i] = 100 * rank + i;
}

static void reset(int* values) {
  to = values;
  for (int i = 0; i < most; i++) values[i] = 1000 * (rank + 1) + i;
}

static void fails(const char* call, const char* why) {
  wrong++;
  printf("rank %d: %s %s\n", rank, call, why);
}

static void judge(const char* call, int result) {
  if (result != MPI_SUCCESS) fails(call, "returns an error");
  else if (memcmp(got, wanted, sizeof got) != 0) fails(call, "brings other data");
}

static int ended(int started, MPI_Request* request) {
  return started == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : started;
}

/* A persistent operation runs twice. */
static int ran(int made, MPI_Request* request) {
  if (made != MPI_SUCCESS) return made;
  for (int time = 0; time < 2; time++) {
    reset(got);
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  return MPI_Request_free(request);
}

/* Takes a call's name, its nonblocking form's without "MPI_I", and the arguments with small and with large counts. */
#define BOTH(...) __VA_ARGS__
#define EACH_WAY(name, lower, small, large)                                                            \
  do {                                                                                                 \
    MPI_Request request = MPI_REQUEST_NULL;                                                            \
    reset(wanted);                                                                                     \
    MPI_##name(small);                                                                                 \
    reset(got);                                                                                        \
    judge("MPI_" #name "_c", MPI_##name##_c(large));                                                   \
    reset(got);                                                                                        \
    judge("MPI_I" #lower "_c", ended(MPI_I##lower##_c(large, &request), &request));                    \
    reset(got);                                                                                        \
    judge("MPI_" #name "_init_c", ran(MPI_##name##_init_c(large, MPI_INFO_NULL, &request), &request)); \
  } while (0)

#define AT_ROOT(pointer) (rank == root ? (pointer) : nowhere)
#define NUMBER_AT_ROOT(number) (rank == root ? (number) : too_many)

static void of_one_group(MPI_Comm comm) {
  void* const in_place = MPI_IN_PLACE;
  EACH_WAY(Bcast, bcast, BOTH(to, block, MPI_INT, root, comm), BOTH(to, block, MPI_INT, root, comm));
  EACH_WAY(Scatter, scatter, BOTH(mine, block, MPI_INT, to, block, MPI_INT, root, comm),
           BOTH(AT_ROOT(mine), NUMBER_AT_ROOT(block), MPI_INT, to, block, MPI_INT, root, comm));
  EACH_WAY(
      Scatterv, scatterv, BOTH(mine, same, places, MPI_INT, to, same[rank], MPI_INT, root, comm),
      BOTH(AT_ROOT(mine), AT_ROOT(large_same), AT_ROOT(large_places), MPI_INT, to, same[rank], MPI_INT, root, comm));
  EACH_WAY(Gather, gather, BOTH(mine, block, MPI_INT, to, block, MPI_INT, root, comm),
           BOTH(mine, block, MPI_INT, AT_ROOT(to), NUMBER_AT_ROOT(block), MPI_INT, root, comm));
  EACH_WAY(
      Gatherv, gatherv, BOTH(mine, same[rank], MPI_INT, to, same, places, MPI_INT, root, comm),
      BOTH(mine, same[rank], MPI_INT, AT_ROOT(to), AT_ROOT(large_same), AT_ROOT(large_places), MPI_INT, root, comm));
  EACH_WAY(Gatherv, gatherv,
           BOTH(rank == root ? in_place : mine, same[rank], MPI_INT, to, same, places, MPI_INT, root, comm),
           BOTH(rank == root ? in_place : mine, rank == root ? too_many : same[rank], MPI_INT, AT_ROOT(to),
                AT_ROOT(large_same), AT_ROOT(large_places), MPI_INT, root, comm));
  EACH_WAY(Allgather, allgather, BOTH(mine, block, MPI_INT, to, block, MPI_INT, comm),
           BOTH(mine, block, MPI_INT, to, block, MPI_INT, comm));
  EACH_WAY(Allgather, allgather, BOTH(in_place, 0, MPI_INT, to, block, MPI_INT, comm),
           BOTH(in_place, too_many, MPI_INT, to, block, MPI_INT, comm));
  EACH_WAY(Allgatherv, allgatherv, BOTH(mine, same[rank], MPI_INT, to, same, places, MPI_INT, comm),
           BOTH(mine, same[rank], MPI_INT, to, large_same, large_places, MPI_INT, comm));
  EACH_WAY(Alltoall, alltoall, BOTH(mine, block, MPI_INT, to, block, MPI_INT, comm),
           BOTH(mine, block, MPI_INT, to, block, MPI_INT, comm));
  EACH_WAY(Alltoallv, alltoallv, BOTH(mine, counts, places, MPI_INT, to, counts, places, MPI_INT, comm),
           BOTH(mine, large_counts, large_places, MPI_INT, to, large_counts, large_places, MPI_INT, comm));
  EACH_WAY(Alltoallv, alltoallv, BOTH(in_place, counts, places, MPI_INT, to, counts, places, MPI_INT, comm),
           BOTH(in_place, nowhere, nowhere, MPI_INT, to, large_counts, large_places, MPI_INT, comm));
  EACH_WAY(Alltoallw, alltoallw, BOTH(mine, counts, byte_places, types, to, counts, byte_places, types, comm),
           BOTH(mine, large_counts, large_byte_places, types, to, large_counts, large_byte_places, types, comm));
}

static void of_reductions(MPI_Comm comm) {
  EACH_WAY(Reduce, reduce, BOTH(mine, to, block, MPI_INT, MPI_SUM, root, comm),
           BOTH(mine, AT_ROOT(to), block, MPI_INT, MPI_SUM, root, comm));
  EACH_WAY(Allreduce, allreduce, BOTH(mine, to, block, MPI_INT, MPI_SUM, comm),
           BOTH(mine, to, block, MPI_INT, MPI_SUM, comm));
  EACH_WAY(Allreduce, allreduce, BOTH(MPI_IN_PLACE, to, block, MPI_INT, MPI_SUM, comm),
           BOTH(MPI_IN_PLACE, to, block, MPI_INT, MPI_SUM, comm));
  EACH_WAY(Reduce_scatter, reduce_scatter, BOTH(mine, to, same, MPI_INT, MPI_SUM, comm),
           BOTH(mine, to, large_same, MPI_INT, MPI_SUM, comm));
  EACH_WAY(Reduce_scatter_block, reduce_scatter_block, BOTH(mine, to, block, MPI_INT, MPI_SUM, comm),
           BOTH(mine, to, block, MPI_INT, MPI_SUM, comm));
  EACH_WAY(Scan, scan, BOTH(mine, to, block, MPI_INT, MPI_SUM, comm), BOTH(mine, to, block, MPI_INT, MPI_SUM, comm));
  EACH_WAY(Exscan, exscan, BOTH(mine, to, block, MPI_INT, MPI_SUM, comm),
           BOTH(mine, to, block, MPI_INT, MPI_SUM, comm));
}

/* All ranks send to the next one, even ranks also to the previous one: sides differ in their number of blocks. What
 * lies behind an array's end is too large, so nobody may look at it. */
static void of_neighbours(void) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size, even = rank % 2 == 0, weights[] = {1, 1};
  const int out[] = {next, previous}, in[] = {previous, next}, twos[] = {2, 2};
  const MPI_Count large_out[] = {same[0], even ? same[1] : too_many}, large_in[] = {same[0], even ? too_many : same[1]};
  const MPI_Count large_twos[] = {2, even ? too_many : 2};
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2 - even, in, weights, 1 + even, out, weights, MPI_INFO_NULL, 0,
                                 &comm);
  EACH_WAY(Neighbor_allgather, neighbor_allgather, BOTH(mine, block, MPI_INT, to, block, MPI_INT, comm),
           BOTH(mine, block, MPI_INT, to, block, MPI_INT, comm));
  EACH_WAY(Neighbor_allgatherv, neighbor_allgatherv, BOTH(mine, 2, MPI_INT, to, twos, places, MPI_INT, comm),
           BOTH(mine, 2, MPI_INT, to, large_twos, large_places, MPI_INT, comm));
  EACH_WAY(Neighbor_alltoall, neighbor_alltoall, BOTH(mine, block, MPI_INT, to, block, MPI_INT, comm),
           BOTH(mine, block, MPI_INT, to, block, MPI_INT, comm));
  EACH_WAY(Neighbor_alltoallv, neighbor_alltoallv, BOTH(mine, same, places, MPI_INT, to, same, places, MPI_INT, comm),
           BOTH(mine, large_out, large_places, MPI_INT, to, large_in, large_places, MPI_INT, comm));
  EACH_WAY(Neighbor_alltoallw, neighbor_alltoallw,
           BOTH(mine, same, large_byte_places, types, to, same, large_byte_places, types, comm),
           BOTH(mine, large_out, large_byte_places, types, to, large_in, large_byte_places, types, comm));
  MPI_Comm_free(&comm);
}

/* Collectives from and to a root in the group of world rank 0 (`side` 0), or in that of all others. */
static void to_other_group(MPI_Comm comm, int here, int side) {
  const int own = (rank > 0) == side, is_root = own && here == 0, is_leaf = !own;
  const int at = is_root ? MPI_ROOT : own ? MPI_PROC_NULL : 0;
  const MPI_Count n = is_leaf ? same[here] : too_many;
  void* const from = is_leaf ? mine : nowhere;
#define THERE(pointer) (is_root ? (void*)(pointer) : nowhere)
  EACH_WAY(Gatherv, gatherv, BOTH(mine, same[here], MPI_INT, to, same, places, MPI_INT, at, comm),
           BOTH(from, n, MPI_INT, THERE(to), THERE(large_same), THERE(large_places), MPI_INT, at, comm));
  EACH_WAY(
      Scatterv, scatterv, BOTH(mine, same, places, MPI_INT, to, same[here], MPI_INT, at, comm),
      BOTH(THERE(mine), THERE(large_same), THERE(large_places), MPI_INT, is_leaf ? to : nowhere, n, MPI_INT, at, comm));
  EACH_WAY(Bcast, bcast, BOTH(to, block, MPI_INT, at, comm),
           BOTH(at == MPI_PROC_NULL ? nowhere : to, at == MPI_PROC_NULL ? too_many : block, MPI_INT, at, comm));
  EACH_WAY(Reduce, reduce, BOTH(mine, to, block, MPI_INT, MPI_SUM, at, comm),
           BOTH(from, THERE(to), at == MPI_PROC_NULL ? too_many : block, MPI_INT, MPI_SUM, at, comm));
}

/* World rank 0 is one group, all others the other one: their arrays are as long as the other group is large. */
static void of_two_groups(void) {
  MPI_Comm group, comm;
  int here, there, shares[most_ranks];
  MPI_Count large_shares[most_ranks];
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 0, &comm);
  MPI_Comm_rank(comm, &here);
  MPI_Comm_remote_size(comm, &there);
  for (int r = 0; r < most_ranks; r++) {
    counts[r] = 1 + (r + here) % 4;
    large_counts[r] = r < there ? counts[r] : too_many;
    large_same[r] = r < there ? same[r] : too_many;
    shares[r] = rank > 0 ? 2 : 2 * (size - 1);
    large_shares[r] = r < size - there ? shares[r] : too_many;
  }
  for (int side = 0; side < 2; side++) to_other_group(comm, here, side);
  EACH_WAY(Allgatherv, allgatherv, BOTH(mine, same[here], MPI_INT, to, same, places, MPI_INT, comm),
           BOTH(mine, same[here], MPI_INT, to, large_same, large_places, MPI_INT, comm));
  EACH_WAY(Alltoallv, alltoallv, BOTH(mine, counts, places, MPI_INT, to, counts, places, MPI_INT, comm),
           BOTH(mine, large_counts, large_places, MPI_INT, to, large_counts, large_places, MPI_INT, comm));
  EACH_WAY(Reduce_scatter, reduce_scatter, BOTH(mine, to, shares, MPI_INT, MPI_SUM, comm),
           BOTH(mine, to, large_shares, MPI_INT, MPI_SUM, comm));
  MPI_Comm_free(&comm);
  MPI_Comm_free(&group);
  prepare();
}

/* What a message of the partner brings. */
static void expect(int partner) {
  reset(wanted);
  for (int i = 0; i < block; i++) wanted[i] = 100 * partner + i;
  reset(got);
}

typedef int Send(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int Start(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void of_sends(MPI_Comm comm, int partner) {
  static Send* const sends[] = {MPI_Send_c, MPI_Bsend_c, MPI_Ssend_c, MPI_Rsend_c};
  static Start* const starts[] = {MPI_Isend_c, MPI_Ibsend_c, MPI_Issend_c, MPI_Irsend_c};
  static Start* const inits[] = {MPI_Send_init_c, MPI_Bsend_init_c, MPI_Ssend_init_c, MPI_Rsend_init_c};
  MPI_Request in, out;
  for (int mode = 0; mode < 4; mode++) {
    for (int way = 0; way < 3; way++) {
      expect(partner);
      MPI_Irecv_c(got, block, MPI_INT, partner, way, comm, &in);
      MPI_Barrier(comm);
      int result = MPI_SUCCESS;
      if (way == 0) result = sends[mode](mine, block, MPI_INT, partner, way, comm);
      else if (way == 1) result = ended(starts[mode](mine, block, MPI_INT, partner, way, comm, &out), &out);
      else result = inits[mode](mine, block, MPI_INT, partner, way, comm, &out);
      if (way == 2 && result == MPI_SUCCESS) {
        MPI_Start(&out);
        MPI_Wait(&out, MPI_STATUS_IGNORE);
        MPI_Request_free(&out);
      }
      MPI_Wait(&in, MPI_STATUS_IGNORE);
      judge("a send", result);
    }
  }
}

static void of_receives(MPI_Comm comm, int partner) {
  MPI_Request in = MPI_REQUEST_NULL, out;
  MPI_Message message;
  MPI_Status status;
  int flag = 0, received = 0;
  for (int way = 0; way < 4; way++) {
    expect(partner);
    MPI_Isend(mine, block, MPI_INT, partner, way, comm, &out);
    if (way == 0) judge("MPI_Recv_c", MPI_Recv_c(got, most, MPI_INT, partner, way, comm, &status));
    if (way == 1) {
      const int result = MPI_Recv_init_c(got, most, MPI_INT, partner, way, comm, &in);
      if (result == MPI_SUCCESS) MPI_Start(&in);
      judge("MPI_Recv_init_c", ended(result, &in));
      MPI_Request_free(&in);
    }
    if (way == 2) MPI_Mprobe(partner, way, comm, &message, &status);
    if (way == 2) judge("MPI_Mrecv_c", MPI_Mrecv_c(got, most, MPI_INT, &message, &status));
    while (way == 3 && !flag) MPI_Improbe(partner, way, comm, &flag, &message, &status);
    if (way == 3) judge("MPI_Imrecv_c", ended(MPI_Imrecv_c(got, most, MPI_INT, &message, &in), &in));
    MPI_Wait(&out, MPI_STATUS_IGNORE);
    if (way == 1) continue;
    MPI_Get_count(&status, MPI_INT, &received);
    if (received != block) fails("a receive", "has another length");
  }
}

static void of_both(MPI_Comm comm, int partner) {
  MPI_Request request;
  for (int way = 0; way < 4; way++) {
    expect(partner);
    int result = MPI_SUCCESS;
    if (way % 2 == 1) memcpy(got, mine, block * sizeof *got);
    if (way == 0)
      result =
          MPI_Sendrecv_c(mine, block, MPI_INT, partner, 0, got, most, MPI_INT, partner, 0, comm, MPI_STATUS_IGNORE);
    else if (way == 1)
      result = MPI_Sendrecv_replace_c(got, block, MPI_INT, partner, 0, partner, 0, comm, MPI_STATUS_IGNORE);
    else if (way == 2)
      result = ended(MPI_Isendrecv_c(mine, block, MPI_INT, partner, 0, got, most, MPI_INT, partner, 0, comm, &request),
                     &request);
    else result = ended(MPI_Isendrecv_replace_c(got, block, MPI_INT, partner, 0, partner, 0, comm, &request), &request);
    judge("a sendrecv", result);
  }
}

static void of_windows(void) {
  for (int allocated = 0; allocated < 2; allocated++) {
    MPI_Win window;
    int* memory = got;
    int result;
    expect(rank);
    if (allocated)
      result = MPI_Win_allocate_c(sizeof got, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    else result = MPI_Win_create_c(got, sizeof got, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (result != MPI_SUCCESS) return fails("a window", "is refused");
    memcpy(memory, got, sizeof got);
    MPI_Win_fence(0, window);
    MPI_Put(mine, block, MPI_INT, rank, 0, block, MPI_INT, window);
    MPI_Win_fence(0, window);
    memcpy(got, memory, sizeof got);
    judge("a window", result);
    MPI_Win_free(&window);
  }
}

static int reported;

static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  reported++;
}

static void judge_refusal(const char* call, int result) {
  int class;
  MPI_Error_class(result, &class);
  if (class != MPI_ERR_COUNT) fails(call, "takes what does not fit");
  if (reported != 1) fails(call, "does not tell the error handler once");
  reported = 0;
}

static void of_refusals(MPI_Comm comm, int partner, int with_collectives) {
  MPI_Count last[most_ranks];
  MPI_Aint far[most_ranks];
  MPI_Request request;
  for (int r = 0; r < size; r++) last[r] = r < size - 1 ? 1 : too_many, far[r] = r < size - 1 ? 1 : (MPI_Aint)too_many;
#define REFUSED(call) judge_refusal(#call, call)
  REFUSED(MPI_Send_c(mine, too_many, MPI_INT, partner, 0, comm));
  REFUSED(MPI_Irecv_c(got, too_many, MPI_INT, partner, 0, comm, &request));
  REFUSED(MPI_Send_init_c(got, too_many, MPI_INT, partner, 0, comm, &request));
  REFUSED(MPI_Sendrecv_c(mine, 1, MPI_INT, partner, 0, got, too_many, MPI_INT, partner, 0, comm, MPI_STATUS_IGNORE));
  if (!with_collectives) return;
  REFUSED(MPI_Bcast_c(got, too_many, MPI_INT, root, comm));
  REFUSED(MPI_Iallreduce_c(mine, got, too_many, MPI_INT, MPI_SUM, comm, &request));
  REFUSED(MPI_Allgatherv_c(mine, 1, MPI_INT, got, last, large_places, MPI_INT, comm));
  REFUSED(MPI_Alltoallv_c(mine, large_same, far, MPI_INT, got, large_same, large_places, MPI_INT, comm));
  REFUSED(MPI_Alltoallw_c(mine, large_same, large_byte_places, types, got, large_same, far, types, comm));
  REFUSED(MPI_Reduce_scatter_init_c(mine, got, last, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  reported = 1; /* nobody is told */
  REFUSED(MPI_Allgather_c(mine, 1, MPI_INT, got, too_many, MPI_INT, comm));
}

/* A message that a probe took out has no communicator to tell of errors but the world. */
static void of_refused_messages(int partner) {
  MPI_Message message;
  MPI_Request out;
  expect(partner);
  MPI_Isend(mine, block, MPI_INT, partner, 0, MPI_COMM_WORLD, &out);
  MPI_Mprobe(partner, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  REFUSED(MPI_Mrecv_c(got, too_many, MPI_INT, &message, MPI_STATUS_IGNORE));
  judge("MPI_Mrecv_c", MPI_Mrecv_c(got, block, MPI_INT, &message, MPI_STATUS_IGNORE));
  MPI_Wait(&out, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  static char room[1 << 16];
  void* buffer = room;
  int bytes = sizeof room;
  long all = 0;
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Buffer_attach(buffer, bytes);
  MPI_Comm_create_errhandler(count_error, &handler);
  prepare();
  of_one_group(comm);
  of_reductions(comm);
  of_neighbours();
  of_two_groups();
  of_sends(comm, rank ^ 1);
  of_receives(comm, rank ^ 1);
  of_both(comm, rank ^ 1);
  of_windows();
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (argc > 1) of_refusals(comm, rank ^ 1, argc > 2);
  if (argc > 1) of_refused_messages(rank ^ 1);
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) puts("verified");
  MPI_Buffer_detach(&buffer, &bytes);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
