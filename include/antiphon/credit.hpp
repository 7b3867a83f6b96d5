// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace antiphon {

/// How much may be under way in a credit exchange. A rank's own choice, but for `short_bytes`, which all ranks must have alike.
struct CreditLimits {
  std::int64_t piece_bytes = 8192;    ///< of a grant; what it grants travels as one message
  std::int64_t credit_bytes = 49152;  ///< granted and not yet come in, of all senders together
  std::int64_t sender_bytes = 16384;  ///< the same of one sender
  std::int64_t short_bytes = 8192;    ///< messages up to this go without a grant
  std::int64_t short_window_bytes = 32768;  ///< short messages sent ahead of what came in

  /// All positive, a piece not above the two credits. Throws InvalidArgument.
  void check() const;
};

/// Limits for a node to which `credit_bytes` may be under way before its port loses any, as parameters of the algorithm ("credit"):
/// ":piece_bytes=…,…". Half of that is granted, since short messages and other traffic share the port; four senders share it, each with two
/// pieces. 0, unknown: "", the defaults.
std::string credit_parameters(std::int64_t credit_bytes);

/// In which order a receiver grants: `bytes` of what is still to come from `peer` (fewer where fewer are left).
struct GrantStep {
  int peer = 0;
  std::int64_t bytes = 0;
  bool operator==(const GrantStep&) const = default;
};

/// One rank's part of an exchange of messages between any ranks, of which each rank knows only its own: MPI_Alltoallv.
/// A message of at most `short_bytes` is sent at once; both sides know its size, and so that it is short. For a longer one the
/// receiver grants piece after piece, never more than `credit_bytes` in all under way to it; a sender serves any grant it holds.
///
/// The order in which a receiver grants is its own affair: advice (phases of a schedule, say) that some ranks have and others
/// have not, or that fits what other ranks send or does not, changes the time and never the result. So nothing must be
/// agreed on before it is used (paper 1's levels 2 and 3 need all ranks to know the same pattern).
///
/// No deadlock: a grant waits for nothing but pieces that were granted before and are not in yet; a granted piece waits for
/// nothing, since its receive is posted before the grant is sent and its sender serves any grant; a short message of phase i
/// (to rank + i) waits only for short ones of earlier phases. So of all that is not finished, the earliest short message and
/// every piece that is granted can go on. docs/concepts/credit.md has the argument at length.
///
/// No network in here: the MPI exchange and the in-process tests drive the same object.
///
///     exchange.reset(sizes…);
///     while (!exchange.done()) {
///       CreditExchange::Action action;
///       while (exchange.next(action)) start(action);      // in this order: a piece's receive comes before its grant
///       for (each action that came to its end) exchange.complete(action, granted bytes if it received a grant);
///     }
class CreditExchange {
 public:
  enum class Kind : std::uint8_t {
    recv_short,  ///< receive the whole message of `peer`
    send_short,  ///< send the whole message for `peer`
    recv_grant,  ///< receive a grant of `peer`: 8 bytes, how many bytes it grants
    send_grant,  ///< grant `peer` so many bytes
    recv_piece,  ///< receive a granted piece
    send_piece,  ///< send a granted piece
  };
  struct Action {
    Kind kind = Kind::recv_short;
    int peer = 0;
    std::int64_t offset_bytes = 0;  ///< within the message
    std::int64_t bytes = 0;         ///< of the message or piece; send_grant: how many are granted
  };

  CreditExchange(int rank, int size, const CreditLimits& limits);

  /// Begins an exchange. The sizes (one a rank; one's own is ignored) are copied. Without `advice` the order is rank − 1, rank − 2, …;
  /// whatever advice leaves out is granted after it in that order. Allocates only when something grows.
  void reset(std::span<const std::int64_t> send_bytes, std::span<const std::int64_t> recv_bytes, std::span<const GrantStep> advice = {});
  /// The next action that may start. False: none now.
  bool next(Action& action);
  /// An action has come to its end. `granted_bytes`: of recv_grant, what the message said. Throws FormatError where that cannot be.
  void complete(const Action& action, std::int64_t granted_bytes = 0);
  [[nodiscard]] bool done() const { return unfinished_ == 0; }
  /// No message in or out is long, and next() has handed out everything: all that is left is to wait.
  [[nodiscard]] bool all_started() const { return !any_long_ && next_short_phase_ == size_ && ready_.empty(); }

  [[nodiscard]] std::int64_t outstanding_bytes() const { return outstanding_bytes_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const CreditLimits& limits() const { return limits_; }

 private:
  struct Peer {
    std::int64_t to_send = 0, to_receive = 0;
    std::int64_t sent = 0;              ///< granted to me and handed out
    std::int64_t granted = 0;           ///< granted by me
    std::int64_t outstanding = 0;       ///< of that, not yet in
    bool short_in = false;              ///< its short message has come in, or there is none
    bool blocked = false;               ///< of one walk over the order: an earlier step of this peer could not go on
  };

  [[nodiscard]] bool is_long(std::int64_t bytes) const { return bytes > limits_.short_bytes; }
  [[nodiscard]] Peer& from_phase(int phase) { return peers_[static_cast<std::size_t>((rank_ - phase + size_) % size_)]; }
  void plan_order(std::span<const GrantStep> advice);
  void release_short();
  void grant();
  bool grant_from(GrantStep& step);
  void push(Kind kind, int peer, std::int64_t offset, std::int64_t bytes);

  int rank_, size_;
  CreditLimits limits_;
  std::vector<Peer> peers_;
  std::vector<GrantStep> order_;
  std::size_t order_begin_ = 0;
  std::vector<Action> ready_;      ///< a queue: what next() has not handed out
  std::size_t ready_begin_ = 0;
  int next_short_phase_ = 1;       ///< the next short message to send
  int in_phase_ = 1;               ///< short messages of all phases before this one have come in
  std::int64_t ahead_bytes_ = 0;   ///< sent short in phases in_phase_ …
  std::int64_t outstanding_bytes_ = 0;
  std::int64_t unfinished_ = 0;    ///< actions handed out or known to come
  bool any_long_ = false;
};

}  // namespace antiphon
