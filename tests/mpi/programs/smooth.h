/* SPDX-License-Identifier: Apache-2.0 */
/* Smooth messages and their checks, for programs of one file. */
#pragma once

#include <stdio.h>

static int rank, ranks __attribute__((unused)), failed;

static void expect(int ok, const char* what, int detail) {
  if (ok) return;
  if (__atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED) < 20) printf("rank %d: wrong: %s (%d)\n", rank, what, detail);
}

/* Data that are smooth in space and time, so that each message can be predicted from earlier ones. */
static void make(double* v, int count, int round, int salt) {
  for (int i = 0; i < count; ++i) v[i] = 1.0 + 1e-4 * i + 1e-3 * round * (1 + 1e-3 * i) + salt;
}

static int same(const double* v, int count, int round, int salt) {
  for (int i = 0; i < count; ++i) {
    if (v[i] != 1.0 + 1e-4 * i + 1e-3 * round * (1 + 1e-3 * i) + salt) return 0;
  }
  return 1;
}
