// SPDX-License-Identifier: Apache-2.0
// Preloaded, this gives each rank a monotonic clock of its own: far from the others', and with a rate of its own. It is
// like a time namespace or another node, and it says so in /proc/self/ns/time.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int own_rank(void) {
  const char* text = getenv("OMPI_COMM_WORLD_RANK");
  if (text == NULL) text = getenv("PMI_RANK");
  return text == NULL ? 0 : atoi(text);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result != 0 || clock != CLOCK_MONOTONIC) return result;
  const int rank = own_rank();
  const double since_boot_ns = 1e9 * (double)now->tv_sec + (double)now->tv_nsec;
  const long long own_ns = (long long)(since_boot_ns * (1 + 0.5 * rank)) + rank * 5000000000LL;
  now->tv_sec = own_ns / 1000000000LL;
  now->tv_nsec = own_ns % 1000000000LL;
  return 0;
}

ssize_t readlink(const char* path, char* text, size_t length) {
  if (strcmp(path, "/proc/self/ns/time") != 0) return syscall(SYS_readlink, path, text, length);
  return snprintf(text, length, "time:[%d]", own_rank());
}
