/* SPDX-License-Identifier: Apache-2.0 */
/* Antiphon's C API, for MPI programs that want to see or steer what is done for them.
 *
 * The functions live in the preload object and are looked up when they are called, so a program that uses them links without
 * any library (but libdl, before glibc 2.34) and runs with and without Antiphon: without, they return ANTIPHON_ABSENT.
 *
 * All ranks of the communicator must make the same calls with the same arguments in the same order (nothing is
 * communicated). Settings belong to the communicator and are not inherited by its duplicates. The same can be said by
 * MPI_Info keys on MPI_Comm_set_info / MPI_Comm_dup_with_info: antiphon_enable = "true" | "false", and
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
  ANTIPHON_ABSENT = 1,    /* no preload object in this process, or it is switched off */
  ANTIPHON_BAD_NAME = 2,  /* no such collective, algorithm or parameter, or a value out of bounds */
  ANTIPHON_BAD_COMM = 3   /* not a communicator that Antiphon handles (intercommunicator, null, before MPI_Init) */
};

#ifdef __cplusplus
extern "C" {
#endif

/* A function of the preload object, or NULL. */
static inline void* antiphon_find(const char* name) {
  void* program = dlopen(NULL, RTLD_LAZY);
  void* found = program ? dlsym(program, name) : NULL;
  if (program) dlclose(program);
  return found;
}

/* The preload object's version as major * 10000 + minor * 100 + patch; 0 where there is none. */
static inline int antiphon_version(void) {
  int (*function)(void);
  *(void**)&function = antiphon_find("antiphon_impl_version");
  return function ? function() : 0;
}

/* Switches Antiphon on or off for one collective ("alltoall", …) of a communicator, or for all with NULL. */
static inline int antiphon_enable(MPI_Comm comm, const char* collective, int enabled) {
  int (*function)(MPI_Comm, const char*, int);
  *(void**)&function = antiphon_find("antiphon_impl_enable");
  return function ? function(comm, collective, enabled) : ANTIPHON_ABSENT;
}

/* What to use for a collective of a communicator from the next call on, for all sizes: "ALGORITHM" or
 * "ALGORITHM:PARAMETER=VALUE,…", "on" (Antiphon's own choice, also where it would stay out), "library", or "auto" (the
 * normal choice). Where the forced algorithm cannot solve a call (see `antiphon bench --list`), the library does. */
static inline int antiphon_force(MPI_Comm comm, const char* collective, const char* choice) {
  int (*function)(MPI_Comm, const char*, const char*);
  *(void**)&function = antiphon_find("antiphon_impl_force");
  return function ? function(comm, collective, choice) : ANTIPHON_ABSENT;
}

/* Writes what the last call of the collective on the communicator used, in the form antiphon_force takes ("library" when
 * it was passed on, "none" before the first call), and a final NUL; cut at capacity. */
static inline int antiphon_chosen(MPI_Comm comm, const char* collective, char* text, size_t capacity) {
  int (*function)(MPI_Comm, const char*, char*, size_t);
  *(void**)&function = antiphon_find("antiphon_impl_chosen");
  return function ? function(comm, collective, text, capacity) : ANTIPHON_ABSENT;
}

#ifdef __cplusplus
}
#endif

#endif
