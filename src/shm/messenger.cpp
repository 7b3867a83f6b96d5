// SPDX-License-Identifier: Apache-2.0
#include "shm/messenger.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "shm/process.hpp"

namespace antiphon::shm {

namespace {

/// A ring that holds several parts keeps both sides at work.
constexpr std::size_t most_ring_bytes = 64 << 10;
constexpr std::size_t least_ring_bytes = 4 << 10;
/// All rings of a node together are about so long at most.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

std::size_t stride_of(const Layout& layout) { return sizeof(RingState) + layout.ring_bytes; }

}  // namespace

Layout Layout::for_ranks(int ranks) {
  const auto pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
  const std::size_t share = std::bit_floor(most_bytes / std::max<std::size_t>(pairs, 1));
  return {ranks, std::clamp(share, least_ring_bytes, most_ring_bytes)};
}

std::size_t Layout::bytes() const {
  return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * stride_of(*this);
}

Messenger::Messenger(std::byte* memory, const Layout& layout, Terms terms) : processes_(std::move(terms.processes)) {
  const std::size_t stride = stride_of(layout);
  const auto ring = [&](int from, int to) {
    return memory +
           (static_cast<std::size_t>(from) * static_cast<std::size_t>(layout.ranks) + static_cast<std::size_t>(to)) *
               stride;
  };
  for (int peer = 0; peer < layout.ranks; ++peer) {
    // A state of zeros is a valid one, which the other side may use already.
    std::byte* const out = ring(terms.self, peer);
    std::byte* const in = ring(peer, terms.self);
    outgoing_.emplace_back(RingWriter(reinterpret_cast<RingState*>(out), out + sizeof(RingState), layout.ring_bytes),
                           terms.least_lent_bytes);
    incoming_.emplace_back(RingReader(reinterpret_cast<RingState*>(in), in + sizeof(RingState), layout.ring_bytes),
                           processes_[static_cast<std::size_t>(peer)]);
  }
  sending_.reserve(outgoing_.size());
  receiving_.reserve(incoming_.size());
}

void Messenger::list(std::vector<int>& listed, bool& is_listed, int peer) {
  if (is_listed) return;
  is_listed = true;
  listed.push_back(peer);
}

void Messenger::send(Transfer& transfer) {
  const std::lock_guard lock(mutex_);
  if (failed()) return;
  transfer.done.store(false, std::memory_order_relaxed);
  Outgoing& out = outgoing_[static_cast<std::size_t>(transfer.peer)];
  out.add(transfer);
  out.advance();
  if (!out.idle()) list(sending_, out.listed, transfer.peer);
}

void Messenger::receive(Transfer& transfer) {
  const std::lock_guard lock(mutex_);
  if (failed()) return;
  transfer.done.store(false, std::memory_order_relaxed);
  Incoming& in = incoming_[static_cast<std::size_t>(transfer.peer)];
  if (!in.add(transfer) || !in.advance()) failed_ = true;
  if (!in.idle()) list(receiving_, in.listed, transfer.peer);
}

void Messenger::look() {
  // Another thread that looks does so for all.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || failed()) return;
  const auto advance_all = [](std::vector<int>& listed, auto& sides, auto advance) {
    for (std::size_t i = 0; i < listed.size();) {
      auto& side = sides[static_cast<std::size_t>(listed[i])];
      advance(side);
      if (side.idle()) {
        side.listed = false;
        listed[i] = listed.back();
        listed.pop_back();
      } else {
        ++i;
      }
    }
  };
  advance_all(receiving_, incoming_, [this](Incoming& in) {
    if (!in.advance()) failed_ = true;
  });
  advance_all(sending_, outgoing_, [](Outgoing& out) { out.advance(); });
}

std::optional<Messenger::Mismatch> Messenger::mismatch() {
  const std::lock_guard lock(mutex_);
  for (std::size_t sender = 0; sender < incoming_.size(); ++sender) {
    if (const auto& bytes = incoming_[sender].mismatch()) return Mismatch{static_cast<int>(sender), *bytes};
  }
  return std::nullopt;
}

void Messenger::look_for_lost_ranks() {
  const std::lock_guard lock(mutex_);
  for (const auto* listed : {&sending_, &receiving_}) {
    for (const int peer : *listed) {
      if (!is_alive(processes_[static_cast<std::size_t>(peer)])) failed_ = true;
    }
  }
}

void Messenger::abandon() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  for (Outgoing& out : outgoing_) out.forget_all();
  for (Incoming& in : incoming_) in.forget_all();
}

}  // namespace antiphon::shm
