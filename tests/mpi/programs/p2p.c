// SPDX-License-Identifier: Apache-2.0
// Every way to send and to receive, sizes around the threshold, several kinds of data and datatypes. Checks what
// arrives, its status, and what must not change. Prints "N cases, M failed". Arguments: [random seed].
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_bytes = 300000, guard = 64, kinds = 7, type_count = 5, send_count = 12, recv_count = 12 };
static const int sizes[] = {0, 8, 56, 64, 72, 120, 1016, 1024, 1032, 4096, 16384, 65536, 262144};
static const char* const send_names[] = {"send",       "ssend",          "bsend",       "rsend",
                                         "isend",      "issend",         "ibsend",      "irsend",
                                         "persistent", "sendrecv (out)", "freed isend", "persistent ssend"};
static const char* const recv_names[] = {
    "recv",       "irecv+wait", "irecv+test", "waitall", "waitany",        "waitsome/testsome",
    "persistent", "probe",      "iprobe",     "mprobe",  "improbe+imrecv", "get_status"};
static int rank, cases, failed, token;
static MPI_Comm comm;
static unsigned char *out, *in, *want;
static MPI_Datatype types[type_count];
static const char* const type_names[] = {"byte", "double", "vector", "struct", "indexed backwards"};

static uint64_t state = 88172645463325252ULL;
static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static void fail(const char* what, int send, int recv, int kind, int type, int bytes) {
  if (++failed > 30) return;
  printf("rank %d: %s: %s -> %s, data %d, %s, %d bytes\n", rank, what, send_names[send], recv_names[recv], kind,
         type_names[type], bytes);
}

/// Makes data: smooth, constant, random, the same random data as last time, data that begins with either mark of a
/// frame, or small integers.
static void make(unsigned char* at, int bytes, int kind, int salt) {
  double* d = (double*)at;
  if (kind == 3) state = 1234567;
  for (int i = 0; i < bytes / 8; ++i) {
    if (kind == 0) d[i] = 1.0 + 1e-6 * i + 1e-3 * salt;
    if (kind == 1) d[i] = 7.0;
    if (kind >= 2 && kind <= 5) {
      const uint64_t r = next_random();
      memcpy(&d[i], &r, 8);
    }
    if (kind == 6) {
      const int pair[2] = {i % 97 + salt, 2 * i};
      memcpy(&d[i], pair, 8);
    }
  }
  const uint32_t marks[2] = {0x466e41f7, 0x546e41f7};
  if ((kind == 4 || kind == 5) && bytes >= 8) memcpy(at, &marks[kind - 4], 4);
}

/// Makes types whose elements have 8, 8, 16, 24 and 32 bytes.
static void make_types(void) {
  types[0] = MPI_BYTE;
  types[1] = MPI_DOUBLE;
  MPI_Datatype vector;
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &vector);
  MPI_Type_create_resized(vector, 0, 32, &types[2]);
  MPI_Type_free(&vector);
  int lengths[3] = {1, 2, 8};
  MPI_Aint places[3] = {0, 8, 24};
  MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Datatype structure;
  MPI_Type_create_struct(3, lengths, places, parts, &structure);
  MPI_Type_create_resized(structure, 0, 40, &types[3]);
  MPI_Type_free(&structure);
  int blocks[4] = {1, 1, 1, 1};
  int backwards[4] = {3, 2, 1, 0};
  MPI_Type_indexed(4, blocks, backwards, MPI_DOUBLE, &types[4]);
  for (int i = 2; i < type_count; ++i) MPI_Type_commit(&types[i]);
}

static int elements(int type, int bytes) {
  static const int size[] = {1, 8, 16, 24, 32};
  return bytes / size[type];
}

static void send_one(int how, int type, int bytes, int peer, int tag) {
  const int n = elements(type, bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  switch (how) {
    case 0: MPI_Send(out, n, types[type], peer, tag, comm); return;
    case 1: MPI_Ssend(out, n, types[type], peer, tag, comm); return;
    case 2: MPI_Bsend(out, n, types[type], peer, tag, comm); return;
    case 3: MPI_Rsend(out, n, types[type], peer, tag, comm); return;
    case 4: MPI_Isend(out, n, types[type], peer, tag, comm, &request); break;
    case 5: MPI_Issend(out, n, types[type], peer, tag, comm, &request); break;
    case 6: MPI_Ibsend(out, n, types[type], peer, tag, comm, &request); break;
    case 7: MPI_Irsend(out, n, types[type], peer, tag, comm, &request); break;
    case 8:
    case 11:
      if (how == 8) MPI_Send_init(out, n, types[type], peer, tag, comm, &request);
      if (how == 11) MPI_Ssend_init(out, n, types[type], peer, tag, comm, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      return;
    case 9: MPI_Sendrecv(out, n, types[type], peer, tag, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &status); return;
    case 10:
      MPI_Isend(out, n, types[type], peer, tag, comm, &request);
      MPI_Request_free(&request);
      MPI_Recv(&token, 0, MPI_INT, peer, 9999, comm, MPI_STATUS_IGNORE);  // it has arrived, so the buffer is free again
      return;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// The arguments of a receive.
typedef struct {
  int n, from, with;
  MPI_Datatype type;
} Wanted;

static void receive_directly(int how, Wanted w, MPI_Status* status) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  int flag = 0, index = 0, done = 0, indices[3];
  switch (how) {
    case 0: MPI_Recv(in, w.n, w.type, w.from, w.with, comm, status); return;
    case 1:
      MPI_Irecv(in, w.n, w.type, w.from, w.with, comm, &requests[0]);
      MPI_Wait(&requests[0], status);
      return;
    case 2:
      MPI_Irecv(in, w.n, w.type, w.from, w.with, comm, &requests[0]);
      for (; !flag; sched_yield()) MPI_Test(&requests[0], &flag, status);
      return;
    case 3:
      MPI_Irecv(in, w.n, w.type, w.from, w.with, comm, &requests[1]);
      MPI_Waitall(3, requests, statuses);
      *status = statuses[1];
      return;
    case 4:
      MPI_Irecv(in, w.n, w.type, w.from, w.with, comm, &requests[2]);
      MPI_Waitany(3, requests, &index, status);
      if (index != 2) ++failed;
      return;
    case 5:
      MPI_Irecv(in, w.n, w.type, w.from, w.with, comm, &requests[0]);
      for (; done == 0; sched_yield()) MPI_Testsome(3, requests, &done, indices, statuses);
      *status = statuses[0];
      return;
    case 6:
      MPI_Recv_init(in, w.n, w.type, w.from, w.with, comm, &requests[0]);
      MPI_Start(&requests[0]);
      for (; !flag; sched_yield()) MPI_Testall(2, requests, &flag, statuses);
      *status = statuses[0];
      MPI_Request_free(&requests[0]);
      return;
  }
}

static void receive_after_a_look(int how, Wanted w, MPI_Status* status) {
  MPI_Request request;
  MPI_Status other;
  MPI_Message message;
  int flag = 0;
  switch (how) {
    case 7:
      MPI_Probe(w.from, w.with, comm, status);
      MPI_Recv(in, w.n, w.type, status->MPI_SOURCE, status->MPI_TAG, comm, &other);
      if (memcmp(&other.MPI_SOURCE, &status->MPI_SOURCE, sizeof(int)) != 0) ++failed;
      return;
    case 8:
      for (; !flag; sched_yield()) MPI_Iprobe(w.from, w.with, comm, &flag, status);
      MPI_Irecv(in, w.n, w.type, w.from, w.with, comm, &request);
      MPI_Wait(&request, status);
      return;
    case 9:
      MPI_Mprobe(w.from, w.with, comm, &message, status);
      MPI_Mrecv(in, w.n, w.type, &message, &other);
      if (message != MPI_MESSAGE_NULL) ++failed;
      return;
    case 10:
      for (; !flag; sched_yield()) MPI_Improbe(w.from, w.with, comm, &flag, &message, &other);
      MPI_Imrecv(in, w.n, w.type, &message, &request);
      MPI_Wait(&request, status);
      return;
    case 11:
      MPI_Irecv(in, w.n, w.type, w.from, w.with, comm, &request);
      for (; !flag; sched_yield()) MPI_Request_get_status(request, &flag, &other);
      MPI_Waitall(1, &request, status);
      if (other.MPI_TAG != status->MPI_TAG) ++failed;
      return;
  }
}

static void receive_one(int how, int type, int room, int peer, int tag, int wild, MPI_Status* status) {
  const Wanted w = {elements(type, room), wild ? MPI_ANY_SOURCE : peer, wild ? MPI_ANY_TAG : tag, types[type]};
  if (how < 7) receive_directly(how, w, status);
  else receive_after_a_look(how, w, status);
}

static void check(int send, int recv, int kind, int type, int bytes, int peer, int tag, const MPI_Status* status) {
  int got = -1, count = -1;
  MPI_Get_elements(status, types[type], &got);
  MPI_Get_count(status, types[type], &count);
  if (count != elements(type, bytes)) fail("count", send, recv, kind, type, bytes);
  if (status->MPI_SOURCE != peer || status->MPI_TAG != tag) fail("source or tag", send, recv, kind, type, bytes);
  if (memcmp(in, want, most_bytes + guard) != 0) fail("data", send, recv, kind, type, bytes);
}

/// Rank 0 sends, and rank 1 receives into a larger buffer.
static void one_case(int send, int recv, int kind, int type, int bytes, int wild, int exact) {
  const int tag = 100 + send;
  static const int size[] = {1, 8, 16, 24, 32};
  bytes = bytes / size[type] * size[type];
  ++cases;
  make(out, most_bytes, kind, cases % 50);
  memset(in, 0xee, most_bytes + guard);
  memset(want, 0xee, most_bytes + guard);
  const int n = elements(type, bytes);
  if (rank == 1 && n > 0) {  // a type's gaps stay as they were; the library itself tells what must be there
    char* packed = malloc((size_t)bytes + 64);
    int at = 0;
    MPI_Pack(out, n, types[type], packed, bytes + 64, &at, MPI_COMM_SELF);
    at = 0;
    MPI_Unpack(packed, bytes + 64, &at, want, n, types[type], MPI_COMM_SELF);
    free(packed);
  }
  MPI_Status status;
  const int is_ready = send == 3 || send == 7;
  const int room = exact ? bytes : (int)(200000 > bytes ? 200000 : bytes);
  if (rank == 0) {
    if (is_ready) MPI_Recv(&token, 0, MPI_INT, 1, 9998, comm, MPI_STATUS_IGNORE);
    send_one(send, type, bytes, 1, tag);
    // The buffered message must be gone before the next one is buffered.
    if (send == 2 || send == 6) MPI_Recv(&token, 0, MPI_INT, 1, 9999, comm, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    if (is_ready) {  // the receive is posted first
      MPI_Request request;
      MPI_Irecv(in, elements(type, room), types[type], wild ? MPI_ANY_SOURCE : 0, wild ? MPI_ANY_TAG : tag, comm,
                &request);
      MPI_Send(&token, 0, MPI_INT, 0, 9998, comm);
      MPI_Wait(&request, &status);
    } else {
      receive_one(recv, type, room, 0, tag, wild, &status);
    }
    if (send == 10 || send == 2 || send == 6) MPI_Send(&token, 0, MPI_INT, 0, 9999, comm);
    check(send, recv, kind, type, bytes, 0, tag, &status);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int dense = argc > 1 ? atoi(argv[1]) : 1;
  out = malloc(most_bytes * 2);
  in = malloc(most_bytes * 2);
  want = malloc(most_bytes * 2);
  char* attached = malloc(4 * most_bytes);
  MPI_Buffer_attach(attached, 4 * most_bytes);
  make_types();
  int turn = 0;
  const int all_sizes = (int)(sizeof sizes / sizeof *sizes);
  for (int send = 0; send < send_count; ++send) {
    for (int recv = 0; recv < recv_count; ++recv) {
      for (int kind = 0; kind < kinds; ++kind) {
        for (int s = 0; s < all_sizes; ++s) {
          // Covers all pairs of calls with all kinds of data; sizes and types take turns, and small ones come more
          // often.
          if (dense == 0 && (turn++ % 7) != 0) continue;
          const int bytes = sizes[s];
          if (bytes > 20000 && (send + recv + kind) % 5 != 0) continue;
          one_case(send, recv, kind, (send + 3 * recv + kind + s) % type_count, bytes, (send + recv + s) % 3 == 0,
                   (kind + s) % 2);
        }
      }
    }
  }
  int detached = 0;
  void* back = NULL;
  MPI_Buffer_detach(&back, &detached);
  int all = 0;
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d cases, %d failed\n", cases, all);
  for (int i = 2; i < type_count; ++i) MPI_Type_free(&types[i]);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
