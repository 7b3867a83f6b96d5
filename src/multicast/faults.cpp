// SPDX-License-Identifier: Apache-2.0
#include "multicast/faults.hpp"

#include <algorithm>
#include <limits>

namespace antiphon::multicast {

void FaultyWire::deliver(std::vector<std::byte> packet) {
  for (HeldPacket& held : held_) --held.overtaken_by;
  delivered_.push_back(std::move(packet));
}

void FaultyWire::pass(std::span<const std::byte> packet) {
  if (chance(faults_.loss)) return;
  const int copies = chance(faults_.duplicate) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    std::vector<std::byte> bytes(packet.begin(), packet.end());
    if (!bytes.empty() && chance(faults_.corrupt))
      bytes[random_() % bytes.size()] ^= static_cast<std::byte>(1 + random_() % 255);
    if (chance(faults_.delay)) {
      const auto later = static_cast<std::int64_t>(
          random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(faults_.delay_ns, 1)));
      held_.push_back({std::move(bytes), wire_.now_ns() + later, std::numeric_limits<int>::max()});
    } else if (chance(faults_.reorder)) {
      const int others =
          1 + static_cast<int>(random_() % static_cast<std::uint64_t>(std::max(faults_.reorder_depth, 1)));
      held_.push_back({std::move(bytes), wire_.now_ns() + faults_.delay_ns,
                       others});  // delivered after this time if no others come
    } else {
      deliver(std::move(bytes));
    }
  }
}

std::span<const std::span<const std::byte>> FaultyWire::receive() {
  delivered_.clear();
  views_.clear();
  for (const auto packet : wire_.receive()) pass(packet);
  for (std::size_t i = 0; i < held_.size();) {
    if (held_[i].until_ns > wire_.now_ns() && held_[i].overtaken_by > 0) {
      ++i;
      continue;
    }
    delivered_.push_back(std::move(held_[i].bytes));
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const auto& packet : delivered_) views_.emplace_back(packet);
  return views_;
}

void FaultyWire::wait(std::int64_t most_ns) {
  for (const HeldPacket& held : held_)
    most_ns = std::min(most_ns, std::max<std::int64_t>(held.until_ns - wire_.now_ns(), 0));
  wire_.wait(most_ns);
}

}  // namespace antiphon::multicast
