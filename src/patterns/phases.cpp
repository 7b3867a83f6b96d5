// SPDX-License-Identifier: Apache-2.0
#include "patterns/phases.hpp"

#include <bit>

#include "patterns/cut.hpp"

namespace antiphon {

namespace {

constexpr int token_tag = 1;
constexpr int barrier_tag = 2;

}  // namespace

Partners rotated_partners(int rank, int size, int phase) {
  return {(rank + phase) % size, (rank - phase + size) % size};
}

Partners exchange_partners(int rank, int size, int phase) {
  int partner = rank ^ phase;
  if (!std::has_single_bit(static_cast<unsigned>(size))) {
    // Of an odd number n of ranks, two meet if their sum is phase modulo n; a rank that would meet itself meets the
    // extra rank, if there is one.
    const int n = size % 2 == 0 ? size - 1 : size;
    if (rank == n) {
      // (n + 1) / 2 halves modulo n.
      partner = static_cast<int>(std::int64_t{phase % n} * ((n + 1) / 2) % n);
    } else {
      partner = (phase - rank + 2 * n) % n;
      if (partner == rank) partner = n;
    }
  }
  return partner < size ? Partners{partner, partner} : Partners{};
}

std::vector<OpId> add_barrier(Schedule& s, int rank, int size, std::span<const OpId> entry, int tag) {
  std::vector<OpId> ends(entry.begin(), entry.end());
  OpId heard = no_op;
  for (int distance = 1; distance < size; distance *= 2) {
    s.send_token((rank + distance) % size, {heard}, tag);
    for (const OpId op : entry) s.after(op);
    heard = s.recv_token((rank - distance + size) % size, {heard}, tag);
    for (const OpId op : entry) s.after(op);
  }
  if (heard != no_op) ends = {heard};
  return ends;
}

PhasedExchange::PhasedExchange(Schedule& s, const Problem& p, const Cut& cut, Sync sync, std::int64_t token_bytes)
    : s_(s), rank_(p.rank), size_(p.size), cut_(cut), sync_(sync), token_bytes_(token_bytes),
      received_({cut.piece_bytes, ahead * cut.window}), sent_(cut) {}

PhasedExchange::PhasedExchange(Schedule& s, const Problem& p)
    : PhasedExchange(s, p, cut_of(p, "piece_bytes"), static_cast<Sync>(p.parameter("sync")),
                     p.parameter("token_bytes")) {}

void PhasedExchange::add_barrier_between_phases() {
  std::vector<OpId> entry(barrier_);
  entry.push_back(last_.sent);
  entry.push_back(last_.received);
  std::erase(entry, no_op);
  barrier_ = add_barrier(s_, rank_, size_, entry, barrier_tag);
}

PhasedExchange::Done PhasedExchange::add(const Phase& phase) {
  if (sync_ == Sync::barrier && !first_) add_barrier_between_phases();
  first_ = false;
  last_ = {};
  const std::int64_t start = received_.end();
  const bool sends = phase.to >= 0 && phase.out.bytes > 0;
  const bool receives = phase.from >= 0 && phase.in.bytes > 0;
  // Both sides of a message know its size, and so whether it needs a token.
  if (receives && sync_ == Sync::tokens && phase.in.bytes > token_bytes_) {
    s_.send_token(phase.from, {phase.before_recv}, token_tag);
    received_.pace(s_, start, cut_.window);
  }
  if (receives) {
    last_.received = s_.recv(phase.from, phase.in, {phase.before_recv}, {cut_.piece_bytes, ahead * cut_.window});
    for (const OpId op : barrier_) s_.after(op);
    received_.append(s_);
  }
  OpId granted = no_op;
  if (sends && sync_ == Sync::tokens && phase.out.bytes > token_bytes_) {
    const OpId token = s_.recv_token(phase.to, {}, token_tag);
    received_.pace(s_, start, ahead * cut_.window);
    if (cut_.window < all_ahead) granted = token;
  }
  if (sends) {
    last_.sent = s_.send(phase.to, phase.out, {phase.before_send, granted}, cut_);
    for (const OpId op : barrier_) s_.after(op);
    received_.pace(s_, start, cut_.window);
    sent_.append(s_);
  }
  return last_;
}

}  // namespace antiphon
