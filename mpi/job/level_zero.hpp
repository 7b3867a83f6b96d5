// SPDX-License-Identifier: Apache-2.0
// Level Zero, the driver interface of Intel's GPUs, as far as it tells kinds of memory apart and copies.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace antiphon::mpi {

class LevelZero {
 public:
  /// Takes the functions from the loaded library, and makes a context of its own to ask in.
  bool load(void* library);
  [[nodiscard]] bool holds(const void* address) const;
  bool move(void* to, const void* from, std::size_t bytes);

 private:
  void* owner_of(const void* address) const;
  void* list_of(void* device);

  int (*properties_)(void* context, const void* address, void* properties, void** device) = nullptr;
  int (*append_copy_)(void* list, void* to, const void* from, std::size_t bytes, void* signal, unsigned waits,
                      void** events) = nullptr;
  int (*create_list_)(void* context, void* device, const void* description, void** list) = nullptr;
  void* context_ = nullptr;
  std::mutex mutex_;
  std::map<void*, void*> lists_;  ///< for each device, one that does each command at once
};

}  // namespace antiphon::mpi
