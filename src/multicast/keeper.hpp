// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace antiphon::multicast {

/// What the keeper looks after.
class Kept {
 public:
  virtual ~Kept() = default;
  /// Does what is due if the owner has not been there for a while. `wait_ns`: when to look again at the latest if no
  /// packet comes.
  struct Look {
    bool owner_away = false;
    std::int64_t wait_ns = 0;
    int sockets[2] = {-1, -1};  ///< where a packet may come; looked at only while the owner is away
  };
  virtual Look look() = 0;
};

/// Looks after `kept` from a thread of the process (one for all) until it is gone.
void keep(const std::shared_ptr<Kept>& kept);

}  // namespace antiphon::multicast
