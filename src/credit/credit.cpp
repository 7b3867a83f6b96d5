// SPDX-License-Identifier: Apache-2.0
#include "antiphon/credit.hpp"

#include <algorithm>
#include <string>

#include "antiphon/error.hpp"

namespace antiphon {

void CreditLimits::check() const {
  const auto positive = [](std::int64_t bytes) { return bytes > 0; };
  if (!positive(piece_bytes) || !positive(credit_bytes) || !positive(sender_bytes) || short_bytes < 0 || !positive(short_window_bytes)) {
    throw InvalidArgument("credit: sizes must be positive");
  }
  if (piece_bytes > sender_bytes || sender_bytes > credit_bytes) {
    throw InvalidArgument("credit: piece_bytes must not be above sender_bytes, nor that above credit_bytes");
  }
}

std::string credit_parameters(std::int64_t credit_bytes) {
  if (credit_bytes <= 0) return "";
  constexpr std::int64_t unit = 1024;
  const std::int64_t piece = std::clamp<std::int64_t>(credit_bytes / 16 / unit * unit, 2 * unit, 64 * unit);
  return ":piece_bytes=" + std::to_string(piece) + ",credit_bytes=" + std::to_string(8 * piece) + ",sender_bytes=" + std::to_string(2 * piece);
}

CreditExchange::CreditExchange(int rank, int size, const CreditLimits& limits)
    : rank_(rank), size_(size), limits_(limits), peers_(static_cast<std::size_t>(size)) {
  limits_.check();
}

void CreditExchange::reset(std::span<const std::int64_t> send_bytes, std::span<const std::int64_t> recv_bytes,
                           std::span<const GrantStep> advice) {
  ready_.clear();
  ready_begin_ = 0;
  next_short_phase_ = in_phase_ = 1;
  ahead_bytes_ = outstanding_bytes_ = unfinished_ = 0;
  any_long_ = false;
  for (int i = 0; i < size_; ++i) {
    Peer& p = peers_[static_cast<std::size_t>(i)];
    p = {};
    if (i == rank_) continue;
    p.to_send = send_bytes[static_cast<std::size_t>(i)];
    p.to_receive = recv_bytes[static_cast<std::size_t>(i)];
    p.short_in = p.to_receive == 0 || is_long(p.to_receive);
    any_long_ = any_long_ || is_long(p.to_send) || is_long(p.to_receive);
  }
  // Receives first, so that what arrives finds its place.
  for (int phase = 1; phase < size_; ++phase) {
    const int from = (rank_ - phase + size_) % size_;
    const Peer& in = from_phase(phase);
    if (!in.short_in) push(Kind::recv_short, from, 0, in.to_receive);
    const int to = (rank_ + phase) % size_;
    const std::int64_t out = peers_[static_cast<std::size_t>(to)].to_send;
    if (is_long(out)) push(Kind::recv_grant, to, 0, 8);
    else if (out > 0) ++unfinished_;  // its send comes when release_short() says so
  }
  plan_order(advice);
  grant();
  release_short();
}

void CreditExchange::plan_order(std::span<const GrantStep> advice) {
  order_.clear();
  order_begin_ = 0;
  for (const GrantStep& step : advice) {
    const bool known = step.peer >= 0 && step.peer < size_ && step.peer != rank_ && step.bytes > 0;
    if (known && is_long(peers_[static_cast<std::size_t>(step.peer)].to_receive)) order_.push_back(step);
  }
  // A step that finds its peer's message granted already is passed over; so these complete whatever came before.
  for (int phase = 1; phase < size_; ++phase) {
    const Peer& p = from_phase(phase);
    if (is_long(p.to_receive)) order_.push_back({(rank_ - phase + size_) % size_, p.to_receive});
  }
}

void CreditExchange::push(Kind kind, int peer, std::int64_t offset, std::int64_t bytes) {
  ready_.push_back({kind, peer, offset, bytes});
  ++unfinished_;
}

/// Sends short messages in the order of phases while those ahead of what came in fit the window.
void CreditExchange::release_short() {
  while (in_phase_ < size_ && from_phase(in_phase_).short_in) {
    const std::int64_t out = peers_[static_cast<std::size_t>((rank_ + in_phase_) % size_)].to_send;
    if (in_phase_ < next_short_phase_ && !is_long(out)) ahead_bytes_ -= out;
    ++in_phase_;
  }
  while (next_short_phase_ < size_) {
    const int to = (rank_ + next_short_phase_) % size_;
    const std::int64_t out = peers_[static_cast<std::size_t>(to)].to_send;
    if (!is_long(out) && out > 0) {
      // What is first always goes: nothing else would make it go later.
      const bool first = next_short_phase_ <= in_phase_;
      if (!first && ahead_bytes_ + out > limits_.short_window_bytes) return;
      if (next_short_phase_ >= in_phase_) ahead_bytes_ += out;
      push(Kind::send_short, to, 0, out);
      --unfinished_;  // counted in reset()
    }
    ++next_short_phase_;
  }
}

/// Grants in the order of steps while there is credit. A sender that has all it may have is passed over for the next.
void CreditExchange::grant() {
  std::size_t i = order_begin_;
  for (; i < order_.size() && outstanding_bytes_ < limits_.credit_bytes; ++i) {
    Peer& p = peers_[static_cast<std::size_t>(order_[i].peer)];
    if (p.blocked) continue;
    while (grant_from(order_[i])) {}
    // What is left of this step comes before anything of the same peer in later steps.
    p.blocked = order_[i].bytes > 0;
    // Credit is left, but too little for a piece of the one whose turn it is: nobody overtakes.
    const std::int64_t piece = std::min(order_[i].bytes, limits_.piece_bytes);
    if (p.blocked && p.outstanding + piece <= limits_.sender_bytes) break;
  }
  for (std::size_t k = order_begin_; k < order_.size() && k <= i; ++k) peers_[static_cast<std::size_t>(order_[k].peer)].blocked = false;
  while (order_begin_ < order_.size() && order_[order_begin_].bytes == 0) ++order_begin_;
}

/// One piece of the step, if the credits allow it.
bool CreditExchange::grant_from(GrantStep& step) {
  Peer& p = peers_[static_cast<std::size_t>(step.peer)];
  step.bytes = std::min(step.bytes, p.to_receive - p.granted);
  if (step.bytes == 0) return false;
  const std::int64_t piece = std::min(step.bytes, limits_.piece_bytes);
  if (p.outstanding + piece > limits_.sender_bytes || outstanding_bytes_ + piece > limits_.credit_bytes) return false;
  push(Kind::recv_piece, step.peer, p.granted, piece);
  push(Kind::send_grant, step.peer, p.granted, piece);
  p.granted += piece;
  p.outstanding += piece;
  outstanding_bytes_ += piece;
  step.bytes -= piece;
  return true;
}

bool CreditExchange::next(Action& action) {
  if (ready_begin_ == ready_.size()) return false;
  action = ready_[ready_begin_++];
  if (ready_begin_ == ready_.size()) {
    ready_.clear();
    ready_begin_ = 0;
  }
  return true;
}

void CreditExchange::complete(const Action& action, std::int64_t granted_bytes) {
  Peer& p = peers_[static_cast<std::size_t>(action.peer)];
  switch (action.kind) {
    case Kind::recv_short:
      p.short_in = true;
      release_short();
      break;
    case Kind::recv_grant:
      if (granted_bytes <= 0 || granted_bytes > p.to_send - p.sent) {
        throw FormatError("rank " + std::to_string(action.peer) + " granted " + std::to_string(granted_bytes) + " bytes of a message of which " +
                          std::to_string(p.to_send - p.sent) + " are left");
      }
      push(Kind::send_piece, action.peer, p.sent, granted_bytes);
      p.sent += granted_bytes;
      if (p.sent < p.to_send) push(Kind::recv_grant, action.peer, 0, 8);
      break;
    case Kind::recv_piece:
      p.outstanding -= action.bytes;
      outstanding_bytes_ -= action.bytes;
      grant();
      break;
    case Kind::send_short: case Kind::send_grant: case Kind::send_piece: break;
  }
  --unfinished_;
}

}  // namespace antiphon
