/* SPDX-License-Identifier: Apache-2.0 */
/* Antiphon's C API, for MPI programs that want to see or steer what is done for them.
 *
 * The functions live in the preload object. They are weak references here, so a program that uses them links without any
 * library and runs with and without Antiphon: call them through the antiphon_* inline functions below, which return
 * ANTIPHON_ABSENT where no preload object is loaded.
 *
 * All ranks of the communicator must make the same calls with the same arguments in the same order (nothing is
 * communicated). Settings belong to the communicator and are not inherited by its duplicates. The same can be said by
 * MPI_Info keys on MPI_Comm_set_info / MPI_Comm_dup_with_info: antiphon_enable = "true" | "false", and
 * antiphon_<collective> = "auto" | "library" | "ALGORITHM[:PARAMETER=VALUE,…]".
 */
#ifndef ANTIPHON_H
#define ANTIPHON_H

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

#define ANTIPHON_WEAK __attribute__((weak))

/* Behind the inline functions below. */
int antiphon_impl_version(void) ANTIPHON_WEAK;
int antiphon_impl_enable(MPI_Comm comm, const char* collective, int enabled) ANTIPHON_WEAK;
int antiphon_impl_force(MPI_Comm comm, const char* collective, const char* choice) ANTIPHON_WEAK;
int antiphon_impl_chosen(MPI_Comm comm, const char* collective, char* text, size_t capacity) ANTIPHON_WEAK;

/* The preload object's version as major * 10000 + minor * 100 + patch; 0 where there is none. */
static inline int antiphon_version(void) { return antiphon_impl_version ? antiphon_impl_version() : 0; }

/* Switches Antiphon on or off for one collective ("alltoall", …) of a communicator, or for all with NULL. */
static inline int antiphon_enable(MPI_Comm comm, const char* collective, int enabled) {
  return antiphon_impl_enable ? antiphon_impl_enable(comm, collective, enabled) : ANTIPHON_ABSENT;
}

/* What to use for a collective of a communicator from the next call on, for all sizes: "ALGORITHM" or
 * "ALGORITHM:PARAMETER=VALUE,…", "on" (Antiphon's own choice, also where it would stay out), "library", or "auto" (the
 * normal choice). Where the forced algorithm cannot solve a call (see `antiphon bench --list`), the library does. */
static inline int antiphon_force(MPI_Comm comm, const char* collective, const char* choice) {
  return antiphon_impl_force ? antiphon_impl_force(comm, collective, choice) : ANTIPHON_ABSENT;
}

/* Writes what the last call of the collective on the communicator used, in the form antiphon_force takes ("library" when
 * it was passed on, "none" before the first call), and a final NUL; cut at capacity. */
static inline int antiphon_chosen(MPI_Comm comm, const char* collective, char* text, size_t capacity) {
  return antiphon_impl_chosen ? antiphon_impl_chosen(comm, collective, text, capacity) : ANTIPHON_ABSENT;
}

#ifdef __cplusplus
}
#endif

#endif
