/* SPDX-License-Identifier: Apache-2.0 */
/* Stands before the C library where the kernel has no Yama: a process's memory is read by others once it has let them
 * in. The folder GUARDED has a file PID.ALLOWED for each that has, and a file PID.reads for each that read others. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns the path of a process's file. */
static const char* path_of(pid_t process, const char* what) {
  static _Thread_local char path[4096];
  snprintf(path, sizeof path, "%s/%d.%s", getenv("GUARDED"), (int)process, what);
  return path;
}

static void make(const char* path) {
  FILE* file = fopen(path, "w");
  if (file != NULL) fclose(file);
}

int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long given[4];
  for (int i = 0; i < 4; i++) given[i] = va_arg(list, unsigned long);
  va_end(list);
  if (option != PR_SET_PTRACER) return (int)syscall(SYS_prctl, option, given[0], given[1], given[2], given[3]);
  make(path_of(getpid(), given[0] == PR_SET_PTRACER_ANY ? "user" : "siblings"));
  return 0;
}

ssize_t process_vm_readv(pid_t process, const struct iovec* local, unsigned long local_count,
                         const struct iovec* remote, unsigned long remote_count, unsigned long flags) {
  const int open = access(path_of(process, "siblings"), F_OK) == 0 || access(path_of(process, "user"), F_OK) == 0;
  if (process != getpid() && !open) {
    errno = EPERM;
    return -1;
  }
  if (process != getpid()) make(path_of(getpid(), "reads"));
  return syscall(SYS_process_vm_readv, process, local, local_count, remote, remote_count, flags);
}
