/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for a GPU's driver. "Device" memory is mapped twice: the processor may not touch it by the address that the
   program has, unless it was made with `open`; then the MPI library can use it, as one that is aware of GPUs could. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { most = 16, device = 2, host = 1, of_context = 1, memory_type = 2, is_managed = 8, invalid_context = 201 };
static struct {
  char *address, *really;
  size_t bytes;
  int managed;
} areas[most];
static int used, copies;

static void* add(size_t bytes, int protection, int managed) {
  const int file = memfd_create("device", 0);
  if (used == most || file < 0 || ftruncate(file, (off_t)bytes) != 0) return NULL;
  areas[used].address = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
  areas[used].really = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  areas[used].bytes = bytes;
  areas[used].managed = managed;
  return areas[used++].address;
}
void* driver_closed(size_t bytes) { return add(bytes, PROT_NONE, 0); }
void* driver_open(size_t bytes) { return add(bytes, PROT_READ | PROT_WRITE, 0); }
void* driver_managed(size_t bytes) { return add(bytes, PROT_READ | PROT_WRITE, 1); }
int driver_copies(void) { return copies; }

static int area_of(uintptr_t address) {
  for (int i = 0; i < used; ++i) {
    if (address - (uintptr_t)areas[i].address < areas[i].bytes) return i;
  }
  return -1;
}
static char* really(uintptr_t address) {
  const int i = area_of(address);
  return i < 0 ? (char*)address : areas[i].really + (address - (uintptr_t)areas[i].address);
}
static void copy(uintptr_t to, uintptr_t from, size_t bytes) {
  ++copies;
  memcpy(really(to), really(from), bytes);
}
void driver_write(void* to, const void* from, size_t bytes) { memcpy(really((uintptr_t)to), from, bytes); }
void driver_read(void* to, const void* from, size_t bytes) { memcpy(to, really((uintptr_t)from), bytes); }

#if defined(CUDA)
static _Thread_local void* current; /* the program's threads have no context */

int cuPointerGetAttribute(void* data, int attribute, unsigned long long address) {
  const int i = area_of((uintptr_t)address);
  if (i < 0) return 1;
  if (attribute == of_context) return *(void**)data = areas, 0;
  *(unsigned*)data = attribute == memory_type ? device : attribute == is_managed ? (unsigned)areas[i].managed : 0;
  return 0;
}
int cuMemcpy(unsigned long long to, unsigned long long from, size_t bytes) {
  return current == NULL ? invalid_context : (copy((uintptr_t)to, (uintptr_t)from, bytes), 0);
}
int cuCtxPushCurrent_v2(void* context) { return current = context, 0; }
int cuCtxPopCurrent_v2(void** popped) { return *popped = current, current = NULL, 0; }
int driver_is_left(void) { return current == NULL; }
#elif defined(HIP)
struct attributes {
  int type, device;
  void *on_device, *on_host;
  int managed;
  unsigned flags;
};
int hipPointerGetAttributes(struct attributes* found, const void* address) {
  const int i = area_of((uintptr_t)address);
  if (i < 0) return 1;
  *found = (struct attributes){device, 0, (void*)address, NULL, areas[i].managed, 0};
  return 0;
}
int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  return kind != 4 ? 1 : (copy((uintptr_t)to, (uintptr_t)from, bytes), 0);
}
#else
struct properties {
  uint32_t kind;
  void* next;
  uint32_t type;
  uint64_t id, page;
};
int zeDriverGet(uint32_t* count, void** driver) { return *count = 1, *driver = areas, 0; }
int zeContextCreate(void* driver, const void* description, void** context) {
  return *context = driver, *(const uint32_t*)description == 0xd ? 0 : 1;
}
int zeMemGetAllocProperties(void* context, const void* address, struct properties* found, void** on) {
  const int i = area_of((uintptr_t)address);
  found->type = i < 0 ? 0 : areas[i].managed ? 3 : device;
  *on = i < 0 ? NULL : context;
  return found->kind == 0x17 ? 0 : 1;
}
int zeCommandListCreateImmediate(void* context, void* on, const void* description, void** list) {
  return *list = on, context == on && *(const uint32_t*)description == 0xe ? 0 : 1;
}
int zeCommandListAppendMemoryCopy(void* list, void* to, const void* from, size_t bytes, void* signal, uint32_t waits,
                                  void** events) {
  (void)signal, (void)waits, (void)events;
  return list != areas ? 1 : (copy((uintptr_t)to, (uintptr_t)from, bytes), 0);
}
#endif
