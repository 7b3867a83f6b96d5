// SPDX-License-Identifier: Apache-2.0
#include "antiphon/credit.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "antiphon/error.hpp"

namespace antiphon {

void CreditLimits::check() const {
  const auto positive = [](std::int64_t bytes) { return bytes > 0; };
  if (!positive(piece_bytes) || !positive(credit_bytes) || !positive(sender_bytes) || short_bytes < 0 ||
      !positive(short_window_bytes) || !positive(step_bytes)) {
    throw InvalidArgument("credit: sizes must be positive");
  }
  if (piece_bytes > sender_bytes || sender_bytes > credit_bytes) {
    throw InvalidArgument("credit: piece_bytes must not be above sender_bytes, nor that above credit_bytes");
  }
}

void CreditLimits::fill_ports(int ranks, int ranks_per_node) {
  const std::int64_t share = 2 * credit_bytes / ranks_per_node;
  const std::int64_t others = std::max(ranks - 1, 1);
  const std::int64_t half = ranks / 2;
  // While half of the ranks send, the link between the halves carries what one of them sends.
  const std::int64_t crossing = half * (half - 1);
  short_bytes = std::max(short_bytes, share / others);
  short_at_once_bytes = std::max(short_at_once_bytes, share / std::max(others, crossing) * others);
}

std::string credit_parameters(std::int64_t credit_bytes, std::int64_t link_bits_per_s) {
  constexpr std::int64_t unit = 1024;
  constexpr double long_enough_s = 0.27e-3;  // 32 KiB at 1 Gb/s
  const auto carried =
      static_cast<std::int64_t>(static_cast<double>(link_bits_per_s) / 8 * long_enough_s) / unit * unit;
  CreditLimits limits;
  if (credit_bytes > 0) {
    limits.piece_bytes = std::clamp<std::int64_t>(credit_bytes / 16 / unit * unit, 2 * unit, 64 * unit);
    limits.credit_bytes = 8 * limits.piece_bytes;
  } else {  // Ports of 64 KiB are the shortest that are usual: two such pieces fit.
    limits.credit_bytes = std::clamp(2 * carried, limits.credit_bytes, 64 * unit);
  }
  const std::int64_t longer = std::min(carried, limits.credit_bytes / 2) / unit * unit;
  const bool lengthens = longer > limits.piece_bytes;
  if (credit_bytes <= 0 && !lengthens) return "";
  if (lengthens) limits.piece_bytes = longer;
  const std::string text = ":piece_bytes=" + std::to_string(limits.piece_bytes) +
                           ",credit_bytes=" + std::to_string(limits.credit_bytes) +
                           ",sender_bytes=" + std::to_string(2 * limits.piece_bytes);
  return lengthens ? text + ",short_bytes=" + std::to_string(CreditLimits::short_for(longer)) : text;
}

CreditExchange::CreditExchange(int rank, int size, const CreditLimits& limits)
    : rank_(rank), size_(size), limits_(limits), peers_(static_cast<std::size_t>(size)) {
  limits_.check();
}

void CreditExchange::reset(std::span<const std::int64_t> send_bytes, std::span<const std::int64_t> recv_bytes,
                           std::span<const ExchangeStep> advice, bool in_step) {
  ready_.clear();
  ready_begin_ = 0;
  next_short_phase_ = in_phase_ = 1;
  short_bytes_ = ahead_bytes_ = outstanding_bytes_ = received_bytes_ = sending_bytes_ = unfinished_ = 0;
  any_long_ = false;
  in_step_ = in_step;
  for (int i = 0; i < size_; ++i) {
    Peer& p = peer(i);
    const double share = p.share;
    p = {};
    p.share = share;
    if (i == rank_) continue;
    p.to_send = send_bytes[static_cast<std::size_t>(i)];
    p.to_receive = recv_bytes[static_cast<std::size_t>(i)];
    p.short_in = p.to_receive == 0 || is_long(p.to_receive);
    any_long_ = any_long_ || is_long(p.to_send) || is_long(p.to_receive);
    if (!is_long(p.to_send)) short_bytes_ += p.to_send;
  }
  start_messages();
  plan_steps(advice);
  share_credit();
  grant();
  release_short();
}

/// Starts receives first, so that what arrives finds its memory.
void CreditExchange::start_messages() {
  for (int phase = 1; phase < size_; ++phase) {
    const int from = (rank_ - phase + size_) % size_;
    const Peer& in = from_phase(phase);
    if (!in.short_in) push(Kind::recv_short, from, 0, in.to_receive);
    const int to = (rank_ + phase) % size_;
    const std::int64_t out = peer(to).to_send;
    if (is_long(out)) push(Kind::recv_grant, to, 0, 8);
    else if (out > 0) ++unfinished_;  // release_short() starts its send
  }
}

/// Plans steps that hold every long message exactly once, whatever `advice` says.
void CreditExchange::plan_steps(std::span<const ExchangeStep> advice) {
  steps_.clear();
  grants_begin_ = sends_begin_ = 0;
  if (!any_long_) return;
  const auto ranks = static_cast<std::size_t>(size_);
  left_.resize(2 * ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    left_[i] = is_long(peers_[i].to_send) ? peers_[i].to_send : 0;
    left_[ranks + i] = is_long(peers_[i].to_receive) ? peers_[i].to_receive : 0;
  }
  for (const ExchangeStep& step : advice) add_step(step);
  for (int phase = 1; phase < size_; ++phase) {
    add_step({(rank_ + phase) % size_, INT64_MAX, (rank_ - phase + size_) % size_, INT64_MAX});
  }
}

/// Adds the part of the step that exists. Both sides cut messages into the same pieces, so that a step has whole
/// pieces.
void CreditExchange::add_step(const ExchangeStep& wanted) {
  const auto take = [&](int rank, std::int64_t bytes, std::size_t direction) -> std::int64_t {
    if (rank < 0 || rank >= size_ || rank == rank_ || bytes <= 0) return 0;
    std::int64_t& rest = left_[direction * static_cast<std::size_t>(size_) + static_cast<std::size_t>(rank)];
    const std::int64_t piece = limits_.piece_bytes;
    const std::int64_t taken = bytes >= rest ? rest : std::min(rest, (bytes + piece - 1) / piece * piece);
    rest -= taken;
    return taken;
  };
  const std::int64_t out = take(wanted.to, wanted.send_bytes, 0);
  const std::int64_t in = take(wanted.from, wanted.receive_bytes, 1);
  if (out == 0 && in == 0) return;
  const std::int64_t begin = steps_.empty() ? 0 : steps_.back().end;
  steps_.push_back({wanted.to, wanted.from, out, in, 0, begin, begin + in});
}

/// Shares out a free rank's credit in proportion to what each sender has for it. The queue before its port is first in,
/// first out, so a sender's window is its share of the port. With equal windows, one that sends most of the bytes would
/// be as slow as the others, and the busiest rank of all would be idle at times.
void CreditExchange::share_credit() {
  const std::int64_t all_bytes = steps_.empty() ? 0 : steps_.back().end;
  if (all_bytes == 0) return;  // nothing to grant
  for (Peer& p : peers_) {
    const double share = in_step_ ? 0 : static_cast<double>(p.to_receive) / static_cast<double>(all_bytes);
    const auto window = static_cast<std::int64_t>(share * static_cast<double>(limits_.credit_bytes));
    p.window_bytes = std::clamp(window, limits_.sender_bytes, limits_.credit_bytes);
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
  const bool at_once = short_bytes_ <= std::max(limits_.short_at_once_bytes, unattended_at_once_bytes_);
  while (next_short_phase_ < size_) {
    const int to = (rank_ + next_short_phase_) % size_;
    const std::int64_t out = peers_[static_cast<std::size_t>(to)].to_send;
    if (!is_long(out) && out > 0) {
      // The first one always goes, since nothing would make it go later.
      const bool first = next_short_phase_ <= in_phase_;
      if (!first && !at_once && ahead_bytes_ + out > limits_.short_window_bytes) return;
      if (next_short_phase_ >= in_phase_) ahead_bytes_ += out;
      push(Kind::send_short, to, 0, out);
      --unfinished_;  // counted in reset()
    }
    ++next_short_phase_;
  }
}

void CreditExchange::grant() { in_step_ ? grant_in_step() : grant_freely(); }

/// Grants in the order of steps while there is credit. A sender that has all it may have is passed over for the next.
void CreditExchange::grant_freely() {
  std::size_t i = grants_begin_;
  for (; i < steps_.size() && outstanding_bytes_ < limits_.credit_bytes; ++i) {
    Step& step = steps_[i];
    if (step.receive_bytes == 0) continue;
    Peer& p = peer(step.from);
    if (p.blocked) continue;
    while (grant_from(step, limits_.piece_bytes)) {
    }
    // The rest of this step comes before anything of the same peer in later steps.
    p.blocked = step.receive_bytes > 0;
    // Credit is left, but too little for a piece of the sender in turn: no other sender overtakes it.
    const std::int64_t piece = std::min(step.receive_bytes, limits_.piece_bytes);
    if (p.blocked && on_wire(p.share, p.outstanding + piece) <= p.window_bytes) break;
  }
  for (std::size_t k = grants_begin_; k < steps_.size() && k <= i; ++k) {
    if (steps_[k].receive_bytes > 0) peer(steps_[k].from).blocked = false;
  }
  while (grants_begin_ < steps_.size() && steps_[grants_begin_].receive_bytes == 0) ++grants_begin_;
}

/// A sender may begin when almost all bytes of the steps before have come in; one that has begun gets its next grant
/// before it needs it.
void CreditExchange::grant_in_step() {
  for (; grants_begin_ < steps_.size(); ++grants_begin_) {
    Step& step = steps_[grants_begin_];
    while (step.receive_bytes > 0) {
      const std::int64_t next = step.end - step.receive_bytes;
      const std::int64_t ahead =
          next == step.begin ? limits_.sender_bytes : std::max(limits_.sender_bytes, limits_.step_bytes / 2);
      if (on_wire(received_share_, next - received_bytes_) >= ahead ||
          !grant_from(step, std::max(limits_.step_bytes, limits_.piece_bytes)))
        return;
    }
  }
}

/// Grants at most `most_bytes` of the step, in whole pieces, if the credits allow it.
bool CreditExchange::grant_from(Step& step, std::int64_t most_bytes) {
  if (step.receive_bytes == 0) return false;
  Peer& p = peer(step.from);
  const std::int64_t piece = limits_.piece_bytes;
  const std::int64_t bytes = std::min(step.receive_bytes, most_bytes / piece * piece);
  if (!in_step_ && on_wire(p.share, p.outstanding + bytes) > p.window_bytes) return false;
  const std::int64_t more = counted(p, p.outstanding + bytes) - counted(p, p.outstanding);
  if (outstanding_bytes_ + more > limits_.credit_bytes) return false;
  for (std::int64_t at = 0; at < bytes; at += piece)
    push(Kind::recv_piece, step.from, p.granted + at, std::min(piece, bytes - at));
  push(Kind::send_grant, step.from, p.granted, bytes);
  p.granted += bytes;
  count_outstanding(p, bytes);
  step.receive_bytes -= bytes;
  return true;
}

void CreditExchange::count_outstanding(Peer& p, std::int64_t bytes) {
  outstanding_bytes_ -= counted(p, p.outstanding);
  p.outstanding += bytes;
  outstanding_bytes_ += counted(p, p.outstanding);
}

std::int64_t CreditExchange::on_wire(double share, std::int64_t bytes) {
  constexpr double rounding = 1e-6;
  return share >= 1 ? bytes : static_cast<std::int64_t>(std::ceil(share * static_cast<double>(bytes) - rounding));
}

/// Recent pieces count most. Never more than the bytes themselves, so that a first piece always fits the credit; and a
/// piece after very short ones may be as long as any, so that not too many are asked for at once.
void CreditExchange::learn(double& share, std::int64_t bytes, std::int64_t wire_bytes) {
  constexpr double weight = 0.25;
  constexpr double least_share = 0.125;
  if (bytes <= 0) return;
  const double seen = static_cast<double>(wire_bytes) / static_cast<double>(bytes);
  share = std::clamp(share + weight * (seen - share), least_share, 1.0);
}

void CreditExchange::note_received_as(int rank, std::int64_t bytes, std::int64_t wire_bytes) {
  Peer& p = peer(rank);
  learn(received_share_, bytes, wire_bytes);
  outstanding_bytes_ -= counted(p, p.outstanding);
  learn(p.share, bytes, wire_bytes);
  outstanding_bytes_ += counted(p, p.outstanding);
}

/// Sends step after step, as far as there are grants and at most a few pieces ahead of what has come in. A step that
/// receives less than it sends does not wait for more than it receives.
void CreditExchange::send_in_step() {
  for (; sends_begin_ < steps_.size(); ++sends_begin_) {
    Step& step = steps_[sends_begin_];
    while (step.send_bytes > 0) {
      const Peer& p = peer(step.to);
      const std::int64_t at = std::min(step.begin + step.sent_bytes, step.end + limits_.sender_bytes - 1);
      if (p.sent == p.allowed || on_wire(sent_share_, sending_bytes_) >= limits_.sender_bytes ||
          on_wire(received_share_, at - received_bytes_) >= limits_.sender_bytes)
        return;
      const std::int64_t piece = std::min({limits_.piece_bytes, p.to_send - p.sent, step.send_bytes});
      send_piece(step.to);
      step.send_bytes -= piece;
      step.sent_bytes += piece;
    }
  }
}

void CreditExchange::send_piece(int to) {
  Peer& p = peer(to);
  const std::int64_t bytes = std::min(limits_.piece_bytes, p.allowed - p.sent);
  push(Kind::send_piece, to, p.sent, bytes);
  --unfinished_;  // counted in take_grant()
  p.sent += bytes;
  sending_bytes_ += bytes;
}

/// Sends all that is granted.
void CreditExchange::send_all(int to) {
  while (peer(to).sent < peer(to).allowed) send_piece(to);
}

void CreditExchange::lose_patience() {
  if (!in_step_) return;
  in_step_ = false;
  for (int phase = 1; phase < size_; ++phase) send_all((rank_ + phase) % size_);
  grant();
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
  Peer& p = peer(action.peer);
  switch (action.kind) {
    case Kind::recv_short:
      p.short_in = true;
      release_short();
      break;
    case Kind::recv_grant: take_grant(action.peer, granted_bytes); break;
    case Kind::recv_piece:
      count_outstanding(p, -action.bytes);
      received_bytes_ += action.bytes;
      grant();
      if (in_step_) send_in_step();
      break;
    case Kind::send_piece:
      sending_bytes_ -= action.bytes;
      if (in_step_) send_in_step();
      break;
    case Kind::send_short:
    case Kind::send_grant: break;
  }
  --unfinished_;
}

void CreditExchange::take_grant(int from, std::int64_t bytes) {
  Peer& p = peer(from);
  const std::int64_t left = p.to_send - p.allowed;
  if (bytes <= 0 || bytes > left || (bytes < left && bytes % limits_.piece_bytes != 0)) {
    throw FormatError("rank " + std::to_string(from) + " waits for " + std::to_string(bytes) + " bytes, " +
                      std::to_string(left) + " are left to send");
  }
  p.allowed += bytes;
  unfinished_ += (bytes + limits_.piece_bytes - 1) / limits_.piece_bytes;
  if (p.allowed < p.to_send) push(Kind::recv_grant, from, 0, 8);
  in_step_ ? send_in_step() : send_all(from);
}

}  // namespace antiphon
