// SPDX-License-Identifier: Apache-2.0
#include "job/devices.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <initializer_list>
#include <mutex>

#include "job/level_zero.hpp"

namespace antiphon::mpi {

namespace {

// Only what is asked for is declared here, because the drivers' headers are not everywhere.

struct Cuda {
  int (*attribute)(void* data, int attribute, unsigned long long address) = nullptr;
  int (*copy)(unsigned long long to, unsigned long long from, std::size_t bytes) = nullptr;
  int (*push_context)(void* context) = nullptr;
  int (*pop_context)(void** popped) = nullptr;

  bool load(void* library) {
    attribute = reinterpret_cast<decltype(attribute)>(dlsym(library, "cuPointerGetAttribute"));
    copy = reinterpret_cast<decltype(copy)>(dlsym(library, "cuMemcpy"));
    push_context = reinterpret_cast<decltype(push_context)>(dlsym(library, "cuCtxPushCurrent_v2"));
    pop_context = reinterpret_cast<decltype(pop_context)>(dlsym(library, "cuCtxPopCurrent_v2"));
    return attribute != nullptr && copy != nullptr && push_context != nullptr && pop_context != nullptr;
  }
  [[nodiscard]] bool holds(const void* address) const {
    constexpr int memory_type = 2, is_managed = 8, device = 2;
    const auto number = reinterpret_cast<unsigned long long>(address);
    unsigned type = 0;
    unsigned managed = 0;
    if (attribute(&type, memory_type, number) != 0 || type != device) return false;
    return attribute(&managed, is_managed, number) != 0 || managed == 0;
  }
  /// The driver copies only in a context, and a thread that calls MPI may have none.
  bool move(void* to, const void* from, std::size_t bytes) const {
    void* const context = context_of(holds(to) ? to : from);
    const bool pushed = context != nullptr && push_context(context) == 0;
    const int rc = copy(reinterpret_cast<unsigned long long>(to), reinterpret_cast<unsigned long long>(from), bytes);
    void* popped = nullptr;
    if (pushed) pop_context(&popped);
    return rc == 0;
  }

 private:
  /// Returns the context of a GPU's memory; null for memory that belongs to none.
  [[nodiscard]] void* context_of(const void* address) const {
    constexpr int context = 1;
    void* found = nullptr;
    return attribute(&found, context, reinterpret_cast<unsigned long long>(address)) == 0 ? found : nullptr;
  }
};

struct Hip {
  /// The names of kinds of memory have other numbers in each version, so the addresses tell.
  struct Attributes {
    int type, device;
    void *on_device, *on_host;
    int is_managed;
    unsigned flags;
    std::array<void*, 8> room;  ///< for what newer versions add
  };
  int (*attributes)(Attributes* found, const void* address) = nullptr;
  int (*copy)(void* to, const void* from, std::size_t bytes, int kind) = nullptr;
  int (*forget_error)() = nullptr;

  bool load(void* library) {
    attributes = reinterpret_cast<decltype(attributes)>(dlsym(library, "hipPointerGetAttributes"));
    copy = reinterpret_cast<decltype(copy)>(dlsym(library, "hipMemcpy"));
    forget_error = reinterpret_cast<decltype(forget_error)>(dlsym(library, "hipGetLastError"));
    return attributes != nullptr && copy != nullptr;
  }
  [[nodiscard]] bool holds(const void* address) const {
    Attributes found{};
    if (attributes(&found, address) != 0) {
      if (forget_error != nullptr) forget_error();  // The program must not find an error that it did not make.
      return false;
    }
    return found.on_device != nullptr && found.on_host == nullptr && found.is_managed == 0;
  }
  bool move(void* to, const void* from, std::size_t bytes) const {
    constexpr int by_addresses = 4;
    return copy(to, from, bytes, by_addresses) == 0;
  }
};

struct Drivers {
  std::mutex mutex;
  std::atomic<unsigned long long> looked_at{0};  ///< how many objects had been loaded when this was looked at
  Cuda cuda;
  Hip hip;
  LevelZero level_zero;
  std::atomic<bool> has_cuda{false}, has_hip{false}, has_level_zero{false};

  [[nodiscard]] bool some() const { return has_cuda || has_hip || has_level_zero; }

  /// Finds drivers that have been loaded since the last time.
  void look(unsigned long long loaded) {
    const std::lock_guard lock(mutex);
    find(has_cuda, cuda, {"libcuda.so.1"});
    find(has_hip, hip, {"libamdhip64.so.6", "libamdhip64.so.7", "libamdhip64.so.5", "libamdhip64.so"});
    find(has_level_zero, level_zero, {"libze_loader.so.1"});
    looked_at = loaded;
  }

 private:
  template <class Driver>
  static void find(std::atomic<bool>& found, Driver& driver, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (found) return;
      if (void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) found = driver.load(library);
    }
  }
};

std::atomic<bool> watched_for{false};

// Never destroyed, because calls may come until the process ends.
Drivers& drivers = *new Drivers;

/// Returns how often an object was loaded into this process.
unsigned long long objects_loaded() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

bool have_driver() {
  if (const unsigned long long loaded = objects_loaded(); loaded != drivers.looked_at) drivers.look(loaded);
  return drivers.some();
}

}  // namespace

void watch_for_drivers(bool wanted) { watched_for.store(wanted, std::memory_order_relaxed); }

bool is_device_memory(const void* address) {
  if (!watched_for.load(std::memory_order_relaxed) || !have_driver() || address == nullptr) return false;
  return (drivers.has_cuda && drivers.cuda.holds(address)) || (drivers.has_hip && drivers.hip.holds(address)) ||
         (drivers.has_level_zero && drivers.level_zero.holds(address));
}

bool copy_with_device(void* to, const void* from, std::size_t bytes) {
  const auto concerns = [&](const auto& driver) { return driver.holds(to) || driver.holds(from); };
  if (bytes == 0) return true;
  if (drivers.has_cuda && concerns(drivers.cuda)) return drivers.cuda.move(to, from, bytes);
  if (drivers.has_hip && concerns(drivers.hip)) return drivers.hip.move(to, from, bytes);
  return drivers.has_level_zero && drivers.level_zero.move(to, from, bytes);
}

bool may_have_devices() {
  const auto files = {"/dev/nvidiactl", "/dev/kfd", "/dev/dxg"};
  return have_driver() || std::any_of(files.begin(), files.end(), [](const char* f) { return access(f, F_OK) == 0; });
}

}  // namespace antiphon::mpi
