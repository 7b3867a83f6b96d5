/* SPDX-License-Identifier: Apache-2.0 */
/* Checks every collective on a real MPI library. The expected contents of a buffer are computed here, byte by byte,
 * including the gaps of datatypes and guards around it; no result is compared with another collective's. */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

#ifdef NONBLOCKING
#include "nonblocking.h"
#endif

#if MPI_VERSION >= 4
#define LARGE_COUNTS 1
#else
#define LARGE_COUNTS 0
#endif

enum { MAX_LEAVES = 8, MAX_TYPES = 16, MAX_RANKS = 64 };

/* A datatype and the positions of its basic values: the kinds are 'b' (byte), 'i' (int), 'd' (double). */
typedef struct {
  const char* name;
  MPI_Datatype type;
  MPI_Aint extent;
  MPI_Aint first, end; /* true bounds of one element */
  int leaves;
  MPI_Aint offset[MAX_LEAVES];
  char kinds[MAX_LEAVES + 1];
  long max_elements; /* with more, elements would overlap */
} Type;

/* Memory for `elements` of a type, as it is and as it must become, with guards before and behind. */
typedef struct {
  char *memory, *wanted_memory;
  size_t bytes;
  char *at, *wanted; /* where element 0 would start */
} Buffer;

typedef struct {
  MPI_Comm comm;
  const char* comm_name;
  int rank, size, root;
  int in_place, large;
  const Type *st, *rt; /* types of senders and receivers; sn elements of st hold as much as rn of rt */
  long sn, rn;
} Case;

extern long passed, failed;
extern Type types[MAX_TYPES];
extern int type_count;
extern const Type *int_type, *double_type;

void make_types(void);
void free_types(void);
Buffer new_buffer(const Type* type, long elements);
void free_buffer(Buffer* buffer);
/* Writes the message from `source` to `target` as `elements` of `type`. */
void fill(char* at, const Type* type, long elements, int source, int target);
/* Declares that the buffer must not change. */
void keep(Buffer* buffer);
/* Counts a success, or reports a failure of one rank's case. */
void judge(const Case* c, const char* collective, int result, const Buffer* sent, const Buffer* received);
void judge_value(const char* what, long is, long wanted);

/* MPICH 4.0 puts the two messages of a pair with two edges in the wrong order. */
int library_mixes_double_edges(void);
/* Errors of the libraries themselves, observed without Antiphon: by version, and no wider than necessary. */
int library_fails(const Case* c, const char* collective);

/* Check every data-moving collective, and every reduction, on one communicator. */
void check_movement(const char* collective, MPI_Comm comm, const char* comm_name, int large, int thorough);
void check_reduction(const char* collective, MPI_Comm comm, const char* comm_name, int large, int thorough);
int is_reduction(const char* collective);

/* Check separate types for each block, and the neighbours of grids and graphs. */
void check_alltoallw(MPI_Comm comm, const char* comm_name, int large);
void check_neighbours(void);

void check_barrier(MPI_Comm comm);
void check_intercommunicators(void);
void check_bottom(void);
void check_wildcards(void);
void occupy_communicators(void);
void check_communicators(int repetitions);
void check_threads(void);
void print_error_classes(void);
