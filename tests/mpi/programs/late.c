/* SPDX-License-Identifier: Apache-2.0 */
/* Probes answer at once, and receives begin at once, while the sender of a long message is outside MPI: it waits for a
 * file that its receiver makes only then. A short message of the same sender, which such a probe takes out of the
 * library, still comes to a persistent receive. Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { count = 1 << 18 };
enum way { probe, mprobe, recv, irecv, start, sendrecv, isendrecv, replace, ways };

static long in[count], out[count], other;
static int rank;
static long wrong;

/* The upper bits are equal, so that a frame is shorter, but still long. */
static void fill(long* data, int way) {
  srandom((unsigned)way + 1);
  for (int i = 0; i < count; i++) data[i] = random();
}

static void tell(int way) {
  char name[32];
  snprintf(name, sizeof name, "looked.%d", way);
  fclose(fopen(name, "w"));
}

static void wait_outside(int way) {
  char name[32];
  snprintf(name, sizeof name, "looked.%d", way);
  while (access(name, F_OK) != 0) usleep(1000);
}

static void send_late(int way) {
  MPI_Request request;
  int number = 100 + way;
  fill(out, way);
  MPI_Send(&number, 1, MPI_INT, 1, ways + way, MPI_COMM_WORLD);
  MPI_Isend(out, count, MPI_LONG, 1, way, MPI_COMM_WORLD, &request);
  wait_outside(way);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (way == sendrecv || way == isendrecv || way == replace)
    MPI_Recv(in, count, MPI_LONG, 1, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A frame may still be on its way; then nothing is found. */
static void look(int way) {
  int found = 0;
  MPI_Status status;
  const double end = MPI_Wtime() + 0.3;
  while (MPI_Wtime() < end) MPI_Iprobe(0, way, MPI_COMM_WORLD, &found, &status);
}

static void judge(int way, MPI_Status* status) {
  int got = 0;
  MPI_Get_count(status, MPI_LONG, &got);
  fill(out, way);
  wrong += got != count || status->MPI_TAG != way || status->MPI_SOURCE != 0 || memcmp(in, out, sizeof in) != 0;
}

static void wait_for(MPI_Request* request, int way) {
  MPI_Status status;
  tell(way);
  MPI_Wait(request, &status);
  judge(way, &status);
}

static void finish_probe(int way) {
  MPI_Status status;
  MPI_Message message;
  int got = 0;
  tell(way);
  if (way == probe) MPI_Probe(0, way, MPI_COMM_WORLD, &status);
  else MPI_Mprobe(0, way, MPI_COMM_WORLD, &message, &status);
  MPI_Get_count(&status, MPI_LONG, &got);
  wrong += got != count;
  if (way == probe) MPI_Recv(in, count, MPI_LONG, 0, way, MPI_COMM_WORLD, &status);
  else MPI_Mrecv(in, count, MPI_LONG, &message, &status);
  judge(way, &status);
}

static void receive(int way) {
  MPI_Request request;
  MPI_Status status;
  MPI_Comm all = MPI_COMM_WORLD;
  switch (way) {
    case irecv: MPI_Irecv(in, count, MPI_LONG, 0, way, all, &request); break;
    case start:
      MPI_Recv_init(in, count, MPI_LONG, 0, way, all, &request);
      MPI_Start(&request);
      break;
#if MPI_VERSION >= 4
    case isendrecv: MPI_Isendrecv(&other, 1, MPI_LONG, 0, way, in, count, MPI_LONG, 0, way, all, &request); break;
    case replace: MPI_Isendrecv_replace(in, count, MPI_LONG, 0, way, 0, way, all, &request); break;
#else
    case isendrecv:
    case replace:
      MPI_Isend(&other, 1, MPI_LONG, 0, way, all, &request);
      MPI_Request_free(&request);
      MPI_Irecv(in, count, MPI_LONG, 0, way, all, &request);
      break;
#endif
    case recv:
    case sendrecv:
      tell(way);
      if (way == recv) MPI_Recv(in, count, MPI_LONG, 0, way, all, &status);
      else MPI_Sendrecv(&other, 1, MPI_LONG, 0, way, in, count, MPI_LONG, 0, way, all, &status);
      judge(way, &status);
      return;
    default: finish_probe(way); return;
  }
  wait_for(&request, way);
  if (way == start) MPI_Request_free(&request);
}

static void receive_late(int way) {
  MPI_Request request;
  int number = 0;
  MPI_Recv_init(&number, 1, MPI_INT, 0, ways + way, MPI_COMM_WORLD, &request);
  memset(in, 0, sizeof in);
  look(way);
  receive(way);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  wrong += number != 100 + way;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int way = 0; way < ways; way++) {
    if (rank == 0) send_late(way);
    else receive_late(way);
  }
  if (rank == 1) puts(wrong == 0 ? "verified" : "wrong");
  MPI_Finalize();
  return 0;
}
