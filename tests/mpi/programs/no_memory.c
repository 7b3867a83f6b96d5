/* SPDX-License-Identifier: Apache-2.0 */
/* An object to be preloaded: on rank $LACKS, one request of Antiphon's preload object for memory fails in MPI_Init, the
 * one after $AFTER others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void* __libc_malloc(size_t bytes);

static uintptr_t begin, end;
static long left = -1;

static int find_object(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  if (strstr(info->dlpi_name, "libantiphon-") == NULL) return 0;
  begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t after = begin + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && after > end) end = after;
  }
  return 1;
}

void* malloc(size_t bytes) {
  const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (left >= 0 && caller >= begin && caller < end && left-- == 0) return NULL;
  return __libc_malloc(bytes);
}

int MPI_Init(int* argc, char*** argv) {
  int (*const next)(int*, char***) = (int (*)(int*, char***))dlsym(RTLD_NEXT, "MPI_Init");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  if (rank != NULL && strcmp(rank, getenv("LACKS")) == 0) {
    dl_iterate_phdr(find_object, NULL);
    left = atol(getenv("AFTER"));
  }
  const int result = next(argc, argv);
  left = -1;
  return result;
}
