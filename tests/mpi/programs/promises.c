/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that can be encoded, on communicators of which the program promises something: promises KEY. It promises so
 * when it makes "promised", and after some messages for "later", but not of "free". Probes find messages as long as
 * frames in any order of tags. Prints "verified". */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "smooth.h"
#include "verdict.h"

enum { n = 20000, rounds = 4, odd = 2047, tag = 3 };

static double v[n];

static void send_some(MPI_Comm comm, int salt) {
  for (int round = 0; round < rounds && rank < 2; ++round) {
    make(v, n, round, salt);
    if (rank == 0) MPI_Send(v, n, MPI_DOUBLE, 1, tag, comm);
    else MPI_Recv(v, n, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE);
    expect(same(v, n, round, salt), "data", round);
  }
}

static void probe_backwards(MPI_Comm comm) {
  static char data[2][odd];
  MPI_Request requests[2];
  MPI_Status status;
  for (int t = 0; t < 2; ++t) memset(data[t], rank == 0 ? 1 + t : 0, odd);
  for (int t = 0; t < 2 && rank == 0; ++t) MPI_Isend(data[t], odd, MPI_BYTE, 1, tag + t, comm, &requests[t]);
  for (int t = 1; t >= 0 && rank == 1; --t) {
    int length = 0;
    MPI_Probe(0, tag + t, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &length);
    expect(length == odd && status.MPI_TAG == tag + t, "a probe", t);
    MPI_Recv(data[t], odd, MPI_BYTE, 0, tag + t, comm, MPI_STATUS_IGNORE);
    expect(data[t][0] == 1 + t && data[t][odd - 1] == 1 + t, "what a probe found", t);
  }
  if (rank == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Comm promised, later, free_one;
  MPI_Info info;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info_create(&info);
  MPI_Info_set(info, argv[1], "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &promised);
  MPI_Comm_dup(MPI_COMM_WORLD, &later);
  MPI_Comm_dup(MPI_COMM_WORLD, &free_one);
  MPI_Comm_set_name(promised, "promised");
  MPI_Comm_set_name(later, "later");
  MPI_Comm_set_name(free_one, "free");
  send_some(later, 1);
  MPI_Comm_set_info(later, info);
  send_some(later, 2);
  send_some(promised, 3);
  send_some(free_one, 4);
  probe_backwards(promised);
  tell_verdict(failed);
  MPI_Info_free(&info);
  MPI_Comm_free(&promised);
  MPI_Comm_free(&later);
  MPI_Comm_free(&free_one);
  MPI_Finalize();
  return 0;
}
