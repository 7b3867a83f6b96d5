// SPDX-License-Identifier: Apache-2.0
#include "job/level_zero.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <type_traits>

namespace antiphon::mpi {

namespace {

// These have the layout of ze_api.h; `kind` is the interface's number of the structure.
struct ContextDescription {
  std::uint32_t kind = 0xd;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};
struct QueueDescription {
  std::uint32_t kind = 0xe;
  const void* next = nullptr;
  std::uint32_t ordinal = 0, index = 0, flags = 0;
  std::uint32_t mode = 1;  ///< a command is done when its call returns
  std::uint32_t priority = 0;
};
struct MemoryProperties {
  std::uint32_t kind = 0x17;
  void* next = nullptr;
  std::uint32_t type = 0;
  std::uint64_t id = 0, page_bytes = 0;
};
constexpr std::uint32_t device_memory = 2;

}  // namespace

bool LevelZero::load(void* library) {
  const auto take = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  int (*drivers)(std::uint32_t* count, void** found) = nullptr;
  int (*create_context)(void* driver, const void* description, void** context) = nullptr;
  if (!take(drivers, "zeDriverGet") || !take(create_context, "zeContextCreate") ||
      !take(properties_, "zeMemGetAllocProperties") || !take(append_copy_, "zeCommandListAppendMemoryCopy") ||
      !take(create_list_, "zeCommandListCreateImmediate"))
    return false;
  // The program has initialised the interface; before that there are no drivers, and nothing to ask.
  std::uint32_t count = 1;
  void* driver = nullptr;
  const ContextDescription description;
  return drivers(&count, &driver) == 0 && count > 0 && create_context(driver, &description, &context_) == 0;
}

bool LevelZero::holds(const void* address) const { return owner_of(address) != nullptr; }

/// Returns the device whose memory this is; null for memory that the processor can use.
void* LevelZero::owner_of(const void* address) const {
  MemoryProperties properties;
  void* device = nullptr;
  if (properties_(context_, address, &properties, &device) != 0) return nullptr;
  return properties.type == device_memory ? device : nullptr;
}

void* LevelZero::list_of(void* device) {
  const std::lock_guard lock(mutex_);
  void*& list = lists_[device];
  const QueueDescription description;
  if (list == nullptr && create_list_(context_, device, &description, &list) != 0) list = nullptr;
  return list;
}

bool LevelZero::move(void* to, const void* from, std::size_t bytes) {
  void* const target = owner_of(to);
  void* const list = list_of(target != nullptr ? target : owner_of(from));
  return list != nullptr && append_copy_(list, to, from, bytes, nullptr, 0, nullptr) == 0;
}

}  // namespace antiphon::mpi
