// SPDX-License-Identifier: Apache-2.0
// Preloaded into one process, this hides LZ4 and Zstandard from it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

void* dlopen(const char* name, int flags) {
  static void* (*library)(const char*, int);
  if (library == NULL) *(void**)&library = dlsym(RTLD_NEXT, "dlopen");
  const int hidden = name != NULL && (strstr(name, "libzstd") != NULL || strstr(name, "liblz4") != NULL);
  return hidden ? NULL : library(name, flags);
}
