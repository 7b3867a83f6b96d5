// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace antiphon::multicast {

/// Work that the keeper thread does on behalf of an owner that is busy elsewhere.
class BackgroundTask {
 public:
  virtual ~BackgroundTask() = default;
  /// Does what is due if the owner has been away for a while. `wait_ns` is the longest time until the next look if no
  /// packet comes.
  struct Look {
    bool owner_away = false;
    std::int64_t wait_ns = 0;
    int sockets[2] = {-1, -1};  ///< where packets may come; watched only while the owner is away
  };
  virtual Look look() = 0;
};

/// Makes the keeper, one thread for the whole process, serve `task` until `task` is destroyed. Throws NetworkError if
/// the system gives no thread.
void keep(const std::shared_ptr<BackgroundTask>& task);

}  // namespace antiphon::multicast
