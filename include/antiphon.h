/* SPDX-License-Identifier: Apache-2.0 */
/* Antiphon's C API, for MPI programs that want to see or control what Antiphon does for them.
 *
 * The functions are in the preload object and are looked up when they are called. So a program that uses them links
 * without any library (except libdl, before glibc 2.34) and runs with and without Antiphon: without it, they return
 * ANTIPHON_ABSENT.
 *
 * All ranks of the communicator must make the same calls with the same arguments in the same order (nothing is
 * communicated). Settings belong to the communicator, and its duplicates do not inherit them. MPI_Info keys on
 * MPI_Comm_set_info / MPI_Comm_dup_with_info do the same: antiphon_enable = "true" | "false", and
 * antiphon_<collective> = "auto" | "library" | "ALGORITHM[:PARAMETER=VALUE,…]".
 */
#ifndef ANTIPHON_H
#define ANTIPHON_H

#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

#define ANTIPHON_VERSION_MAJOR 0
#define ANTIPHON_VERSION_MINOR 1
#define ANTIPHON_VERSION_PATCH 0

enum {
  ANTIPHON_OK = 0,
  ANTIPHON_ABSENT = 1,      /* no preload object in this process, it is switched off, or MPI_Init is still to come */
  ANTIPHON_BAD_NAME = 2,    /* no such collective, algorithm or parameter, or a value out of bounds */
  ANTIPHON_BAD_COMM = 3,    /* not a communicator that Antiphon handles (of one rank, an intercommunicator, null) */
  ANTIPHON_BAD_PATTERN = 4, /* an inconsistent pattern or phases, or counts that differ from those of the pattern */
  ANTIPHON_MPI_ERROR = 5    /* MPI reported an error, also to the communicator's error handler */
};

#ifdef __cplusplus
#define ANTIPHON_INLINE static inline
extern "C" {
#else
#define ANTIPHON_INLINE static __inline__ /* C89 has no inline */
#endif

/* Finds a function of the preload object, or NULL. It takes a microsecond, so data transmission caches the result. */
ANTIPHON_INLINE void* antiphon_find(const char* name) {
  void* program = dlopen(NULL, RTLD_LAZY);
  void* found = program ? dlsym(program, name) : NULL;
  if (program) dlclose(program);
  return found;
}

/* The preload object's version as major * 10000 + minor * 100 + patch; 0 if there is none. */
ANTIPHON_INLINE int antiphon_version(void) {
  int (*function)(void);
  *(void**)&function = antiphon_find("antiphon_impl_version");
  return function ? function() : 0;
}

/* Switches Antiphon on or off for one collective ("alltoall", …) of a communicator, or for all with NULL. */
ANTIPHON_INLINE int antiphon_enable(MPI_Comm comm, const char* collective, int enabled) {
  int (*function)(MPI_Comm, const char*, int);
  *(void**)&function = antiphon_find("antiphon_impl_enable");
  return function ? function(comm, collective, enabled) : ANTIPHON_ABSENT;
}

/* Sets what a collective of a communicator uses from the next call on, for all sizes: "ALGORITHM" or
 * "ALGORITHM:PARAMETER=VALUE,…", "on" (Antiphon's own choice, even where it would not act), "library", or "auto" (the
 * normal choice). If the forced algorithm cannot do a call (see `antiphon bench --list`), the library does it. */
ANTIPHON_INLINE int antiphon_force(MPI_Comm comm, const char* collective, const char* choice) {
  int (*function)(MPI_Comm, const char*, const char*);
  *(void**)&function = antiphon_find("antiphon_impl_force");
  return function ? function(comm, collective, choice) : ANTIPHON_ABSENT;
}

/* Writes what the last call of the collective on the communicator used, in the form that antiphon_force takes:
 * "library" if it was passed on (or if all calls are), "none" before the first call. Adds a NUL; cut at capacity. */
ANTIPHON_INLINE int antiphon_chosen(MPI_Comm comm, const char* collective, char* text, size_t capacity) {
  int (*function)(MPI_Comm, const char*, char*, size_t);
  *(void**)&function = antiphon_find("antiphon_impl_chosen");
  return function ? function(comm, collective, text, capacity) : ANTIPHON_ABSENT;
}

/* ---- Compiled communication ----
 *
 * "CC-MPI: a compiled communication capable MPI prototype for Ethernet switched clusters" separates network control
 * from data transmission (§4), so that control can be moved out of loops. For many-to-many communication (§4.2) it has
 * two control and two data transmission routines, and three levels of knowledge. Here they are, under our prefix:
 *
 *   level 1   antiphon_alltoallv_control1 + antiphon_alltoallv_data_trans2     the pattern is gathered at run time
 *   level 2   antiphon_alltoallv_control2 + antiphon_alltoallv_data_trans2     the caller has the whole pattern
 *   level 3   antiphon_alltoallv_control3 + antiphon_alltoallv_data_trans2     the caller has the phases
 *   (none)    antiphon_alltoallv_data_trans1                                   point-to-point messages, nothing known
 *
 * A schedule is made for a communicator and ends with it. All ranks must make the same calls in the same order;
 * control1 and the first control or transmission call on a communicator communicate, the others do not. Sizes count
 * bytes that travel: count × the type's size. What a rank sends to itself is not part of a pattern; it is copied,
 * whatever its size. */

typedef struct antiphon_schedule_s* antiphon_schedule;

/* A message, or a part of one, in a phase: paper 1, Figures 2 and 3. The parts of a phase move at the same time. No
 * rank should send or receive two in one phase, unless they are short. */
typedef struct {
  int phase; /* 0, 1, … */
  int from;
  int to;
  long long offset_bytes; /* within the message */
  long long bytes;
} antiphon_part;

/* Control, level 1: MPI_Alltoallv_control1 of paper 1 (§4.2). Gathers all ranks' counts (an allgather) and schedules
 * them. */
ANTIPHON_INLINE int antiphon_alltoallv_control1(const int sendcounts[], MPI_Datatype sendtype, MPI_Comm comm,
                                                antiphon_schedule* schedule) {
  int (*function)(const int[], MPI_Datatype, MPI_Comm, antiphon_schedule*);
  *(void**)&function = antiphon_find("antiphon_impl_control1");
  *schedule = NULL;
  return function ? function(sendcounts, sendtype, comm, schedule) : ANTIPHON_ABSENT;
}

/* Control, level 2: MPI_Alltoallv_control2 of paper 1 (§4.2). Schedules the pattern that the caller has: bytes[from *
 * size + to]. */
ANTIPHON_INLINE int antiphon_alltoallv_control2(const long long bytes[], MPI_Comm comm, antiphon_schedule* schedule) {
  int (*function)(const long long[], MPI_Comm, antiphon_schedule*);
  *(void**)&function = antiphon_find("antiphon_impl_control2");
  *schedule = NULL;
  return function ? function(bytes, comm, schedule) : ANTIPHON_ABSENT;
}

/* Level 3: takes the phases themselves ("stored in a data structure local to each node", paper 1, §4.2), for example
 * those that antiphon_schedule_parts gave in an earlier run, or that a compiler made. The parts of a message must add
 * up to the whole. */
ANTIPHON_INLINE int antiphon_alltoallv_control3(const antiphon_part parts[], int count, MPI_Comm comm,
                                                antiphon_schedule* schedule) {
  int (*function)(const antiphon_part[], int, MPI_Comm, antiphon_schedule*);
  *(void**)&function = antiphon_find("antiphon_impl_control3");
  *schedule = NULL;
  return function ? function(parts, count, comm, schedule) : ANTIPHON_ABSENT;
}

/* Returns the phases of a schedule: writes at most `capacity` parts, and their total number to *count. */
ANTIPHON_INLINE int antiphon_schedule_parts(antiphon_schedule schedule, antiphon_part parts[], int capacity,
                                            int* count) {
  int (*function)(antiphon_schedule, antiphon_part[], int, int*);
  *(void**)&function = antiphon_find("antiphon_impl_schedule_parts");
  return function ? function(schedule, parts, capacity, count) : ANTIPHON_ABSENT;
}

ANTIPHON_INLINE int antiphon_schedule_free(antiphon_schedule* schedule) {
  int (*function)(antiphon_schedule*);
  *(void**)&function = antiphon_find("antiphon_impl_schedule_free");
  return function ? function(schedule) : ANTIPHON_ABSENT;
}

/* Data transmission without knowledge: paper 1's first data transmission routine, with all point-to-point messages at
 * once. It works without Antiphon too. Returns an MPI error code. */
ANTIPHON_INLINE int antiphon_alltoallv_data_trans1(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  static int (*function)(const void*, const int[], const int[], MPI_Datatype, void*, const int[], const int[],
                         MPI_Datatype, MPI_Comm);
  if (!function) *(void**)&function = antiphon_find("antiphon_impl_data_trans1");
  if (!function)
    return MPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  return function(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
}

/* Data transmission in the phases of a schedule: MPI_Alltoallv_data_trans2 of paper 1 (§4.2). The counts on every rank
 * must be those that were scheduled: a rank with other counts gets ANTIPHON_BAD_PATTERN and sends nothing, and others
 * may wait for it (use MPI_Alltoallv where counts may differ). Buffers, types and displacements may change from call to
 * call. */
ANTIPHON_INLINE int antiphon_alltoallv_data_trans2(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                   const int rdispls[], MPI_Datatype recvtype,
                                                   antiphon_schedule schedule) {
  static int (*function)(const void*, const int[], const int[], MPI_Datatype, void*, const int[], const int[],
                         MPI_Datatype, antiphon_schedule);
  if (!function) *(void**)&function = antiphon_find("antiphon_impl_data_trans2");
  if (!function) return ANTIPHON_ABSENT;
  return function(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, schedule);
}

/* MPI_Alltoallv_init for libraries that have none (before MPI 4): level 1, with the control at initialisation. The
 * request works with MPI_Start, MPI_Wait and the related functions, including MPI_Request_free. */
ANTIPHON_INLINE int antiphon_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                            MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                            const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                            MPI_Request* request) {
  int (*function)(const void*, const int[], const int[], MPI_Datatype, void*, const int[], const int[], MPI_Datatype,
                  MPI_Comm, MPI_Request*);
  *(void**)&function = antiphon_find("antiphon_impl_alltoallv_init");
  if (!function) return ANTIPHON_ABSENT;
  return function(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request);
}

/* Does the same with a type for each block, and for the neighbours in a communicator's topology. Returns
 * ANTIPHON_BAD_COMM if some rank has a neighbour twice (a periodic grid that is two wide). */
ANTIPHON_INLINE int antiphon_alltoallw_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                            const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                            const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                            MPI_Request* request) {
  int (*function)(const void*, const int[], const int[], const MPI_Datatype[], void*, const int[], const int[],
                  const MPI_Datatype[], MPI_Comm, MPI_Request*);
  *(void**)&function = antiphon_find("antiphon_impl_alltoallw_init");
  if (!function) return ANTIPHON_ABSENT;
  return function(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request);
}

ANTIPHON_INLINE int antiphon_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                     const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                                     MPI_Request* request) {
  int (*function)(const void*, const int[], const int[], MPI_Datatype, void*, const int[], const int[], MPI_Datatype,
                  MPI_Comm, MPI_Request*);
  *(void**)&function = antiphon_find("antiphon_impl_neighbor_alltoallv_init");
  if (!function) return ANTIPHON_ABSENT;
  return function(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request);
}

ANTIPHON_INLINE int antiphon_neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[],
                                                     const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                     void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                                     const MPI_Datatype recvtypes[], MPI_Comm comm,
                                                     MPI_Request* request) {
  int (*function)(const void*, const int[], const MPI_Aint[], const MPI_Datatype[], void*, const int[],
                  const MPI_Aint[], const MPI_Datatype[], MPI_Comm, MPI_Request*);
  *(void**)&function = antiphon_find("antiphon_impl_neighbor_alltoallw_init");
  if (!function) return ANTIPHON_ABSENT;
  return function(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request);
}

/* ---- Multicast groups ----
 *
 * Compiled communication for one-to-many patterns: paper 1, §4.1, "compiler-assisted group management".
 * MPI_Scatterv_open_group makes a multicast group of the root and those who receive something, and tells all what each
 * receives. MPI_Scatterv_data_movement then needs one multicast among only these, and MPI_Scatterv_close_group ends the
 * group. So the group is made once, outside of the loop. Here they are under our prefix, together with the same for
 * broadcasts to some of a communicator's ranks.
 *
 * Opening and closing are collective over the communicator. The ranks that take part call data movement
 * (antiphon_group_member tells; others may call it too, and return at once). A group counts against the budget
 * (ANTIPHON_MULTICAST_GROUPS) until it is closed, and is never closed to make room for others. If multicast does not
 * work, or there is no room, data are sent by point-to-point messages (antiphon_group_multicasts tells). So are
 * scatters to at most eight receivers or of more than 32 KiB, which is no slower. */

typedef struct antiphon_group_s* antiphon_group;

/* Network control: MPI_Scatterv_open_group of paper 1 (§4.1). sendcounts and sendtype count only at the root. */
ANTIPHON_INLINE int antiphon_scatterv_open_group(const int sendcounts[], MPI_Datatype sendtype, int root, MPI_Comm comm,
                                                 antiphon_group* group) {
  int (*function)(const int[], MPI_Datatype, int, MPI_Comm, antiphon_group*);
  *(void**)&function = antiphon_find("antiphon_impl_scatterv_open_group");
  *group = NULL;
  return function ? function(sendcounts, sendtype, root, comm, group) : ANTIPHON_ABSENT;
}

/* Data transmission: MPI_Scatterv_data_movement of paper 1 (§4.1). The counts must be those of the opening. */
ANTIPHON_INLINE int antiphon_scatterv_data_movement(const void* sendbuf, const int sendcounts[], const int displs[],
                                                    MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                                    MPI_Datatype recvtype, antiphon_group group) {
  static int (*function)(const void*, const int[], const int[], MPI_Datatype, void*, int, MPI_Datatype, antiphon_group);
  if (!function) *(void**)&function = antiphon_find("antiphon_impl_scatterv_data_movement");
  if (!function) return ANTIPHON_ABSENT;
  return function(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, group);
}

/* Network control for broadcasts: the group has the root and all ranks that say they take part. */
ANTIPHON_INLINE int antiphon_bcast_open_group(int takes_part, int root, MPI_Comm comm, antiphon_group* group) {
  int (*function)(int, int, MPI_Comm, antiphon_group*);
  *(void**)&function = antiphon_find("antiphon_impl_bcast_open_group");
  *group = NULL;
  return function ? function(takes_part, root, comm, group) : ANTIPHON_ABSENT;
}

/* Data transmission for broadcasts: any size, but the same on all who take part. */
ANTIPHON_INLINE int antiphon_bcast_data_movement(void* buffer, int count, MPI_Datatype datatype, antiphon_group group) {
  static int (*function)(void*, int, MPI_Datatype, antiphon_group);
  if (!function) *(void**)&function = antiphon_find("antiphon_impl_bcast_data_movement");
  return function ? function(buffer, count, datatype, group) : ANTIPHON_ABSENT;
}

/* Tells whether this rank takes part in the group's data movement. */
ANTIPHON_INLINE int antiphon_group_member(antiphon_group group) {
  int (*function)(antiphon_group);
  *(void**)&function = antiphon_find("antiphon_impl_group_member");
  return function && function(group);
}

/* Tells whether data are really sent by multicast. */
ANTIPHON_INLINE int antiphon_group_multicasts(antiphon_group group) {
  int (*function)(antiphon_group);
  *(void**)&function = antiphon_find("antiphon_impl_group_multicasts");
  return function && function(group);
}

/* Network control: MPI_Scatterv_close_group of paper 1 (§4.1), for both kinds. */
ANTIPHON_INLINE int antiphon_close_group(antiphon_group* group) {
  int (*function)(antiphon_group*);
  *(void**)&function = antiphon_find("antiphon_impl_close_group");
  return function ? function(group) : ANTIPHON_ABSENT;
}

#ifdef __cplusplus
}
#endif

#endif
