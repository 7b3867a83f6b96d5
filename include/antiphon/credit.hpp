// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace antiphon {

/// How much may be under way in a credit exchange. Each rank chooses for itself, except `piece_bytes` and
/// `short_bytes`, which must be equal on all ranks.
struct CreditLimits {
  std::int64_t piece_bytes = 8192;    ///< the longest message with data
  std::int64_t credit_bytes = 49152;  ///< granted and not yet received, all senders together
  /// The same for one sender, at least; in step: how far a rank may be ahead of what it receives.
  std::int64_t sender_bytes = 16384;
  std::int64_t short_bytes = 8192;          ///< messages up to this go without a grant
  std::int64_t short_window_bytes = 32768;  ///< short messages sent ahead of what has come in
  std::int64_t step_bytes = 65536;          ///< in step: granted to a sender at once
  /// A rank whose short messages have no more bytes than this, all together, sends them at once.
  std::int64_t short_at_once_bytes = 0;

  /// Returns `short_bytes` for pieces of this length: a second piece that is short takes a round of its own, so a block
  /// with less than that goes without a grant, too.
  static std::int64_t short_for(std::int64_t piece_bytes) {
    const std::int64_t usual = CreditLimits{}.short_bytes;
    return piece_bytes > usual ? piece_bytes * 7 / 4 : usual;
  }

  /// Lets more go without a grant where ports hold it: blocks of which one from each rank fits into a node's port, and
  /// all of a rank's at once if half of the ranks' blocks for the other half fit into the port of a link between two
  /// switches. Then no rank waits for one that is late. A port holds twice the credit, and is shared by so many ranks
  /// of the job.
  void fill_ports(int ranks, int ranks_per_node);

  /// Throws InvalidArgument unless sizes are positive (short_bytes may be 0) and piece_bytes ≤ sender_bytes ≤
  /// credit_bytes.
  void check() const;
};

/// Limits for a node's port that loses packets when more than `credit_bytes` are under way to it, as parameters of the
/// credit algorithm: ":piece_bytes=…,…". Half of that is granted, since short messages and other traffic share the
/// port; four senders share it, each with two pieces. On links that carry a piece in less than a quarter of a
/// millisecond, pieces are longer and fewer, because each costs the hosts the same. 0: unknown; "": the defaults.
std::string credit_parameters(std::int64_t credit_bytes, std::int64_t link_bits_per_s = 0);

/// A step of one rank's way through an exchange: what it sends and what it receives beside that (−1, 0: nothing). What
/// exceeds the rest of a message, or names a message that does not exist, is passed over.
struct ExchangeStep {
  int to = -1;
  std::int64_t send_bytes = 0;
  int from = -1;
  std::int64_t receive_bytes = 0;
  bool operator==(const ExchangeStep&) const = default;
};

/// One rank's part of an exchange of messages between any ranks, of which each rank knows only its own: MPI_Alltoallv.
/// A message of at most `short_bytes` is sent at once; both sides know its size, and so that it is short. A longer one
/// comes in pieces for which the receiver grants bytes; a sender serves the grants that it holds.
///
/// Each rank goes through an exchange in one of two ways:
///  * free: it grants piece after piece in the order of its steps, never more than `credit_bytes` in all and to each
///    sender its share of what is to come; a sender that has all it may have is passed over. It serves any grant at
///    once. Good where ranks have very different amounts to send and receive.
///  * in step: it grants and sends step after step, and sends no faster than it receives. Good where they have about
///    the same amounts, since it keeps ranks from drifting apart. Where nothing moves, lose_patience() makes it free.
///
/// Each rank chooses its steps and its way alone. Advice (phases of a schedule, say) changes the time and never the
/// result, even if only some ranks have it or it does not fit what other ranks send. So ranks need not agree on it
/// before they use it (paper 1's levels 2 and 3 need all ranks to know the same pattern).
///
/// Pieces may be encoded on their way. Grants and steps then speak of the program's bytes, and credit counts those on
/// the wire: a piece that is granted is expected to be as much shorter as the last ones of its sender were. What is
/// expected changes the time and never the result, as advice does.
///
/// No deadlock: a grant waits only for pieces that were granted before and are not in yet; a granted piece waits at
/// most for its sender's patience, since its receive is posted before the grant is sent; a short message of phase i (to
/// rank + i) waits only for short ones of earlier phases. So of all that is not finished, the earliest short message
/// and every granted piece can go on. docs/concepts/credit-deadlock.md has the argument at length.
///
/// This class does no communication itself: the MPI exchange and the in-process tests drive the same object.
///
///     exchange.reset(sizes…);
///     while (!exchange.done()) {
///       CreditExchange::Action action;
///       while (exchange.next(action)) start(action);      // in this order: a piece's receive comes before its grant
///       for (each action that came to its end) exchange.complete(action, granted bytes if it received a grant);
///       if (exchange.in_step() && none did for a while) exchange.lose_patience();
///     }
class CreditExchange {
 public:
  enum class Kind : std::uint8_t {
    recv_short,  ///< receive the whole message of `peer`
    send_short,  ///< send the whole message for `peer`
    recv_grant,  ///< receive a grant of `peer`: 8 bytes that say how many bytes it grants
    send_grant,  ///< grant `peer` this many bytes
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

  /// Begins an exchange. The sizes (one per rank; this rank's own is ignored) are copied. What `advice` leaves out
  /// follows it in rotated phases: to rank + 1 and from rank − 1, to rank + 2 and from rank − 2, … Allocates only when
  /// something grows.
  void reset(std::span<const std::int64_t> send_bytes, std::span<const std::int64_t> recv_bytes,
             std::span<const ExchangeStep> advice = {}, bool in_step = false);
  [[nodiscard]] bool in_step() const { return in_step_; }
  /// Says before reset() what holds in place of `short_at_once_bytes`, if it is more, since nobody will look at the
  /// exchange for most of its time.
  void set_unattended(std::int64_t at_once_bytes) { unattended_at_once_bytes_ = at_once_bytes; }
  /// Makes the rank free until the end of this exchange.
  void lose_patience();
  /// The next action that may start. False: none now.
  bool next(Action& action);
  /// Tells that an action is complete. `granted_bytes`: of recv_grant, what the message said; throws FormatError if
  /// that is more than the sender has left, or no whole pieces.
  void complete(const Action& action, std::int64_t granted_bytes = 0);
  /// Tells that data of a peer came, or went to one, with another length on the wire: before complete(), or at any time
  /// after next(). It holds for later exchanges, too.
  void note_received_as(int peer, std::int64_t bytes, std::int64_t wire_bytes);
  void note_sent_as(std::int64_t bytes, std::int64_t wire_bytes) { learn(sent_share_, bytes, wire_bytes); }
  [[nodiscard]] bool done() const { return unfinished_ == 0; }
  /// Whether no message in or out is long and next() has handed out everything, so that the caller only has to wait.
  [[nodiscard]] bool all_started() const { return !any_long_ && next_short_phase_ == size_ && ready_.empty(); }

  /// How many bytes may be under way to this rank, on the wire.
  [[nodiscard]] std::int64_t outstanding_bytes() const { return outstanding_bytes_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const CreditLimits& limits() const { return limits_; }

 private:
  struct Peer {
    std::int64_t to_send = 0, to_receive = 0;
    std::int64_t allowed = 0;       ///< granted to this rank
    std::int64_t sent = 0;          ///< of that, handed out
    std::int64_t granted = 0;       ///< granted by this rank
    std::int64_t outstanding = 0;   ///< of that, not yet received
    std::int64_t window_bytes = 0;  ///< the most that may be outstanding, on the wire, where this rank is free
    double share = 1;               ///< of each byte, as much is expected on the wire
    bool short_in = false;          ///< its short message has come in, or there is none
    bool blocked = false;           ///< during one walk over the steps: an earlier step of this peer could not go on
  };
  /// What is left of a step, and where it lies among all bytes that this rank receives.
  struct Step {
    int to, from;
    std::int64_t send_bytes, receive_bytes;  ///< not yet handed out; not yet granted
    std::int64_t sent_bytes = 0;
    std::int64_t begin = 0, end = 0;  ///< of what it receives
  };

  [[nodiscard]] bool is_long(std::int64_t bytes) const { return bytes > limits_.short_bytes; }
  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Peer& from_phase(int phase) { return peer((rank_ - phase + size_) % size_); }
  void start_messages();
  void plan_steps(std::span<const ExchangeStep> advice);
  void add_step(const ExchangeStep& wanted);
  void share_credit();
  void release_short();
  void grant();
  void grant_freely();
  void grant_in_step();
  bool grant_from(Step& step, std::int64_t most_bytes);
  void count_outstanding(Peer& p, std::int64_t bytes);
  static void learn(double& share, std::int64_t bytes, std::int64_t wire_bytes);
  [[nodiscard]] static std::int64_t on_wire(double share, std::int64_t bytes);
  /// What counts of a sender's outstanding bytes.
  [[nodiscard]] static std::int64_t counted(const Peer& p, std::int64_t outstanding_bytes) {
    return std::min(on_wire(p.share, outstanding_bytes), p.window_bytes);
  }
  void send_in_step();
  void take_grant(int from, std::int64_t bytes);
  void send_piece(int to);
  void send_all(int to);
  void push(Kind kind, int peer, std::int64_t offset, std::int64_t bytes);

  int rank_, size_;
  CreditLimits limits_;
  std::vector<Peer> peers_;
  std::vector<Step> steps_;
  /// While steps are planned: what is left of each rank's message to send, then to receive.
  std::vector<std::int64_t> left_;
  std::size_t grants_begin_ = 0;  ///< the first step that is not granted completely
  std::size_t sends_begin_ = 0;   ///< in step: the first one that is not handed out completely
  bool in_step_ = false;
  std::vector<Action> ready_;  ///< a queue of what next() has not handed out
  std::size_t ready_begin_ = 0;
  int next_short_phase_ = 1;  ///< the next short message to send
  int in_phase_ = 1;          ///< the short messages of all phases before this one have come in
  std::int64_t unattended_at_once_bytes_ = 0;
  std::int64_t short_bytes_ = 0;  ///< of all short messages to send
  std::int64_t ahead_bytes_ = 0;  ///< of short messages sent in phases from in_phase_ on
  /// Counts at most its window of each sender, since a sender sends no faster what it was granted in step.
  std::int64_t outstanding_bytes_ = 0;
  std::int64_t received_bytes_ = 0;             ///< of long messages
  double received_share_ = 1, sent_share_ = 1;  ///< of each byte, on the wire
  std::int64_t sending_bytes_ = 0;              ///< of pieces handed out and not yet complete
  std::int64_t unfinished_ = 0;                 ///< actions that are handed out or known to come, and not complete
  bool any_long_ = false;
};

}  // namespace antiphon
