// SPDX-License-Identifier: Apache-2.0
// Starts programs under any glibc (see oldest.c). Before 2.34, a program had to run its constructors itself; a newer
// glibc, called by the old version of its symbol, expects that.
#if defined(__x86_64__)
__asm__(".symver oldest_start, __libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver oldest_start, __libc_start_main@GLIBC_2.17");
#endif

typedef int Main(int, char**, char**);
typedef void Constructor(int, char**, char**);

extern int oldest_start(Main* main, int argc, char** argv, Constructor* init, void (*fini)(void),
                        void (*linker_fini)(void), void* stack_end);
extern void _init(void);
extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));

static void construct(int argc, char** argv, char** environment) {
  _init();
  for (Constructor** next = __init_array_start; next < __init_array_end; ++next) (*next)(argc, argv, environment);
}

int __wrap___libc_start_main(Main* main, int argc, char** argv, Constructor* init, void (*fini)(void),
                             void (*linker_fini)(void), void* stack_end);
int __wrap___libc_start_main(Main* main, int argc, char** argv, Constructor* init, void (*fini)(void),
                             void (*linker_fini)(void), void* stack_end) {
  return oldest_start(main, argc, argv, init != 0 ? init : construct, fini, linker_fini, stack_end);
}
