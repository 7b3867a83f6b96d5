/* SPDX-License-Identifier: Apache-2.0 */
/* Stands before the C library where the system refuses files of memory: all of them with MEMORY_FILES=none, and with
 * MEMORY_FILES=sealed those that somebody may execute, as vm.memfd_noexec=2 does. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int memfd_create(const char* name, unsigned flags) {
  const unsigned nobody_executes = 8;
  const int is_ours = strncmp(name, "antiphon-", 9) == 0;
  if (is_ours && (strcmp(getenv("MEMORY_FILES"), "none") == 0 || (flags & nobody_executes) == 0)) {
    errno = EACCES;
    return -1;
  }
  return (int)syscall(SYS_memfd_create, name, flags);
}
