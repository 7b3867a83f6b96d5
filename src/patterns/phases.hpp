// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"
#include "patterns/lane.hpp"

namespace antiphon {

/// The ranks to which a rank sends and from which it receives in a phase; −1: none.
struct Partners {
  int to = -1;
  int from = -1;
};

/// The phases 1…size−1 of paper 1's Figure 2: to rank + phase, from rank − phase.
Partners rotated_partners(int rank, int size, int phase);
/// Phases in which ranks exchange in pairs: with rank XOR phase for powers of two, else as in a round-robin tournament
/// (circle method).
Partners exchange_partners(int rank, int size, int phase);
/// The last phase of exchange_partners: size − 1, or size for an odd number of ranks, since each phase then leaves one
/// rank out.
inline int exchange_phases(int size) { return size % 2 == 0 || size == 1 ? size - 1 : size; }

/// What keeps phases apart, besides the pacing by pieces.
enum class Sync : std::uint8_t {
  none = 0,
  tokens = 1,   ///< a receiver tells the next sender of a long message when the one before has all but finished
  barrier = 2,  ///< a dissemination barrier between phases (paper 1, §4.2)
};

/// Adds a dissemination barrier after `entry`; returns the operations that end it.
std::vector<OpId> add_barrier(Schedule& s, int rank, int size, std::span<const OpId> entry, int tag);

/// Messages in phases, at most one in and one out a phase, in lock-step pieces: a piece leaves when the piece `window`
/// before it has come in, across phases too. So about `window` pieces are under way to any port. A window of
/// `all_ahead` holds nothing back: a rank awaits neither pieces nor tokens before it sends. Messages are the same with
/// any window, so ranks may have different ones.
///
/// This cannot deadlock, whatever the sizes are and although a rank knows only those of its own messages. Order the
/// pieces of all ranks by (phase, first byte within the message). A piece of a send waits only for pieces that the same
/// rank receives and sends in earlier phases, or in the same phase nearer to the start (`window` ≥ 1 piece); so does
/// the posting of a receive. A token of a phase waits for receives of earlier phases, and sends of its phase wait for
/// it: it comes between both. So the least piece that is not transferred yet waits only for its two sides, which wait
/// for smaller ones.
class PhasedExchange {
 public:
  static constexpr std::int32_t all_ahead = 1024;
  /// As the algorithm's parameters piece_bytes, window, sync and token_bytes say.
  PhasedExchange(Schedule& s, const Problem& p);
  /// `token_bytes`: with Sync::tokens, messages longer than this ask for one.
  PhasedExchange(Schedule& s, const Problem& p, const Cut& cut, Sync sync, std::int64_t token_bytes);

  struct Phase {
    int to = -1;
    Range out{};
    int from = -1;
    Range in{};
    Dep before_send = no_op;
    Dep before_recv = no_op;
  };
  struct Done {
    OpId sent = no_op;
    OpId received = no_op;
  };
  /// Adds a phase. Empty messages are left out: both sides know that they are empty.
  Done add(const Phase& phase);

 private:
  /// Receives are posted this many times further ahead than a sender may send, so that what arrives finds its memory.
  static constexpr std::int32_t ahead = 2;

  void add_barrier_between_phases();

  Schedule& s_;
  int rank_, size_;
  Cut cut_;
  Sync sync_;
  std::int64_t token_bytes_;
  Lane received_, sent_;
  Done last_;
  std::vector<OpId> barrier_;
  bool first_ = true;
};

}  // namespace antiphon
