// SPDX-License-Identifier: Apache-2.0
/* What all programs here share. */
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns zeroed memory, or ends the program. */
static inline void* allocate(size_t bytes) {
  void* memory = calloc(bytes ? bytes : 1, 1);
  if (memory == NULL) {
    fprintf(stderr, "out of memory (%zu bytes)\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

/* A random function of a number (splitmix64), so that data do not depend on the number of ranks. */
static inline uint64_t scramble(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
