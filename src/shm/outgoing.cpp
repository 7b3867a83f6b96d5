// SPDX-License-Identifier: Apache-2.0
#include "shm/outgoing.hpp"

#include <algorithm>
#include <bit>

namespace antiphon::shm {

bool Outgoing::write_header(const Transfer& transfer) {
  if (ring_.room(sizeof(Header)) < sizeof(Header)) return false;
  const Header header{.bytes = transfer.bytes, .tag = transfer.tag};
  ring_.write(&header, sizeof header);
  begun_ = true;
  sent_ = 0;
  return true;
}

/// Lends the whole message in place of copying it. Returns false if there is no room.
bool Outgoing::lend(Transfer& transfer) {
  const auto address = reinterpret_cast<std::uintptr_t>(transfer.at);
  const std::uint64_t payload = address;
  if (ring_.room(sizeof(Header) + sizeof payload) < sizeof(Header) + sizeof payload) return false;
  const int number = std::countr_one(lent_);
  const Header header{.bytes = transfer.bytes, .tag = transfer.tag, .lent = number};
  ring_.write(&header, sizeof header);
  ring_.write(&payload, sizeof payload);
  if (!lent_transfers_) lent_transfers_ = std::make_unique<Lent>();
  (*lent_transfers_)[static_cast<std::size_t>(number)] = &transfer;
  lent_ |= std::uint64_t{1} << number;
  return true;
}

void Outgoing::note_fetched() {
  std::uint64_t fetched = ring_.take_fetched();
  lent_ &= ~fetched;
  for (; fetched != 0; fetched &= fetched - 1) {
    Transfer* const transfer = (*lent_transfers_)[static_cast<std::size_t>(std::countr_zero(fetched))];
    transfer->done.store(true, std::memory_order_release);
  }
}

void Outgoing::advance() {
  if (lent_ != 0) note_fetched();
  while (!queue_.empty()) {
    Transfer& transfer = *queue_.front();
    const bool lends = !begun_ && transfer.bytes >= least_lent_bytes_ && ~lent_ != 0;
    if (lends) {
      if (!lend(transfer)) return;
      queue_.pop();
      ring_.publish();
      continue;
    }
    if (!begun_ && !write_header(transfer)) return;
    const std::size_t left = transfer.bytes - sent_;
    const std::size_t part = std::min({left, ring_.room(std::min(left, part_bytes)), part_bytes});
    ring_.write(transfer.at + sent_, part);
    ring_.publish();
    sent_ += part;
    if (part < left && part == 0) return;
    if (part < left) continue;
    begun_ = false;
    queue_.pop();
    transfer.done.store(true, std::memory_order_release);
  }
}

void Outgoing::forget_all() {
  queue_.clear();
  lent_ = 0;
}

}  // namespace antiphon::shm
