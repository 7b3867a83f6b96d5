/* SPDX-License-Identifier: Apache-2.0 */
/* Opens argv[1], a library that is linked to MPI, privately and calls it, as Python does with its extensions. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    fprintf(stderr, "error: %s\n", dlerror());
    return 1;
  }
  int (*work)(void) = (int (*)(void))dlsym(handle, "work");
  return work();
}
