// SPDX-License-Identifier: Apache-2.0
// Binds what we link to the symbols of glibc 2.28, so that a build on a newer system also loads on RHEL 8.
//
// cmake/glibc.cmake tells the linker to send each use of NAME, also those in the static C++ runtime, to __wrap_NAME:
// here to the version of the function that every glibc has, or to a substitute for what glibc 2.28 lacks.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#define OLDEST_SETNAME "GLIBC_2.12"
#define OLDEST_DLADDR1 "GLIBC_2.3.3"
#define OLDEST_FSTATAT "GLIBC_2.4"
#define STAT_VERSION 1
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#define OLDEST_SETNAME "GLIBC_2.17"
#define OLDEST_DLADDR1 "GLIBC_2.17"
#define OLDEST_FSTATAT "GLIBC_2.17"
#define STAT_VERSION 0
#endif

// Newer versions of these functions differ in the library that holds them, or in how they report errors.
#define BIND(version, type, name, parameters, arguments)   \
  __asm__(".symver oldest_" #name ", " #name "@" version); \
  extern type oldest_##name parameters;                    \
  type __wrap_##name parameters;                           \
  type __wrap_##name parameters { return oldest_##name arguments; }

BIND(OLDEST, void*, dlopen, (const char* file, int mode), (file, mode))
BIND(OLDEST, int, dlclose, (void* handle), (handle))
BIND(OLDEST, void*, dlsym, (void* handle, const char* name), (handle, name))
BIND(OLDEST, int, dladdr, (const void* address, Dl_info* info), (address, info))
BIND(OLDEST_DLADDR1, int, dladdr1, (const void* address, Dl_info* info, void** more, int what),
     (address, info, more, what))
BIND(OLDEST, int, pthread_create, (pthread_t * thread, const pthread_attr_t* with, void* (*run)(void*), void* argument),
     (thread, with, run, argument))
BIND(OLDEST, int, pthread_join, (pthread_t thread, void** result), (thread, result))
BIND(OLDEST, int, pthread_detach, (pthread_t thread), (thread))
BIND(OLDEST, int, pthread_once, (pthread_once_t * control, void (*routine)(void)), (control, routine))
BIND(OLDEST, int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
BIND(OLDEST, int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void*)), (key, destroy))
BIND(OLDEST, int, __pthread_key_create, (pthread_key_t * key, void (*destroy)(void*)), (key, destroy))
BIND(OLDEST, int, pthread_key_delete, (pthread_key_t key), (key))
BIND(OLDEST, void*, pthread_getspecific, (pthread_key_t key), (key))
BIND(OLDEST, int, pthread_setspecific, (pthread_key_t key, const void* value), (key, value))
BIND(OLDEST, int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* old), (how, set, old))
BIND(OLDEST_SETNAME, int, pthread_setname_np, (pthread_t thread, const char* name), (thread, name))
BIND(OLDEST, double, pow, (double base, double exponent), (base, exponent))
BIND(OLDEST, double, exp, (double value), (value))
BIND(OLDEST, double, log, (double value), (value))
BIND(OLDEST, double, log2, (double value), (value))
BIND(OLDEST, int, __xstat64, (int version, const char* path, struct stat64* status), (version, path, status))
BIND(OLDEST, int, __lxstat64, (int version, const char* path, struct stat64* status), (version, path, status))
BIND(OLDEST, int, __fxstat64, (int version, int file, struct stat64* status), (version, file, status))
BIND(OLDEST_FSTATAT, int, __fxstatat64, (int version, int at, const char* path, struct stat64* status, int flags),
     (version, at, path, status, flags))

// glibc 2.28 has these in the part that is linked statically. On these processors, both kinds of status are the same.
#define STATUS(name, parameters, arguments) \
  int __wrap_##name parameters;             \
  int __wrap_##name parameters { return oldest_##arguments; }

STATUS(stat, (const char* path, struct stat64* status), __xstat64(STAT_VERSION, path, status))
STATUS(stat64, (const char* path, struct stat64* status), __xstat64(STAT_VERSION, path, status))
STATUS(lstat, (const char* path, struct stat64* status), __lxstat64(STAT_VERSION, path, status))
STATUS(lstat64, (const char* path, struct stat64* status), __lxstat64(STAT_VERSION, path, status))
STATUS(fstat, (int file, struct stat64* status), __fxstat64(STAT_VERSION, file, status))
STATUS(fstat64, (int file, struct stat64* status), __fxstat64(STAT_VERSION, file, status))
STATUS(fstatat, (int at, const char* path, struct stat64* status, int flags),
       __fxstatat64(STAT_VERSION, at, path, status, flags))
STATUS(fstatat64, (int at, const char* path, struct stat64* status, int flags),
       __fxstatat64(STAT_VERSION, at, path, status, flags))

// std::shared_ptr counts without atomic operations where this is true; false is always right.
char __wrap___libc_single_threaded = 0;

// std::random_device draws from this.
uint32_t __wrap_arc4random(void);
uint32_t __wrap_arc4random(void) {
  uint32_t drawn = 0;
  while (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) continue;
  return drawn;
}

#if defined(DLFO_STRUCT_HAS_EH_DBASE)

struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int holds_address(struct dl_phdr_info* object, size_t size, void* data) {
  const struct search* const search = data;
  const void* frames = NULL;
  (void)size;
  int holds = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = (const void*)start;
    if (part->p_type != PT_LOAD || search->address < start || search->address >= start + part->p_memsz) continue;
    holds = 1;
    search->found->dlfo_map_start = (void*)start;
    search->found->dlfo_map_end = (void*)(start + part->p_memsz);
  }
  search->found->dlfo_eh_frame = (void*)frames;
  return holds && frames != NULL;
}

// The unwinder asks this where the frames of a function are described, once for each function that an exception leaves.
int __wrap__dl_find_object(void* address, struct dl_find_object* found);
int __wrap__dl_find_object(void* address, struct dl_find_object* found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(holds_address, &search) != 0 ? 0 : -1;
}

#endif
