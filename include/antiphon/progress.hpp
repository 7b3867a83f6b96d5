// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// Tells which pieces of a schedule's operations may start: the part of execution that needs no network. The MPI
/// executor and the in-process verifier drive the same object. It is made once for a schedule; reset() and everything
/// after it allocate nothing.
///
///     progress.reset();
///     while (!progress.done()) {
///       Piece piece;
///       while (progress.next(piece)) start(piece);          // each piece that may start, once
///       for (each piece that came to its end) progress.complete(piece);
///     }
class Progress {
 public:
  struct Piece {
    OpId op = no_op;
    std::int64_t index = 0;
  };

  /// Keeps a reference: the schedule must outlive it.
  explicit Progress(const Schedule& schedule);

  /// Goes back to the beginning.
  void reset();
  /// Takes the next piece that may start. Messages come first, so that the network is busy while memory is copied.
  /// Returns false if no piece may start now.
  bool next(Piece& piece);
  /// Records that the piece is complete. Pieces of an operation may complete in any order.
  void complete(const Piece& piece);
  [[nodiscard]] bool done() const { return unfinished_ == 0; }
  /// Returns the most pieces of messages that can be started and incomplete at one time; a multicast's piece counts
  /// once for each receiver.
  [[nodiscard]] std::size_t max_active_messages() const { return max_active_messages_; }
  /// The most pieces of one operation that may be started and incomplete: one flag for each of them fits into a machine
  /// word.
  static constexpr std::int64_t max_window = 64;

 private:
  struct State {
    std::int64_t pieces = 0;
    std::int64_t window = 0;
    std::int64_t started = 0;
    std::int64_t completed = 0;         ///< all pieces before this one are complete
    std::uint64_t completed_after = 0;  ///< bit i: piece completed + i is complete
    std::size_t met = 0;                ///< so many of its dependences hold for the piece that starts next
    bool queued = false;
    bool message = false;
  };

  /// A queue of operations that holds each at most once, in storage given at construction.
  class Queue {
   public:
    void reserve(std::size_t capacity) { slots_.resize(capacity + 1); }
    void clear() { head_ = tail_ = 0; }
    [[nodiscard]] bool empty() const { return head_ == tail_; }
    void push(OpId id) {
      slots_[tail_] = id;
      tail_ = tail_ + 1 == slots_.size() ? 0 : tail_ + 1;
    }
    OpId pop() {
      const OpId id = slots_[head_];
      head_ = head_ + 1 == slots_.size() ? 0 : head_ + 1;
      return id;
    }

   private:
    std::vector<OpId> slots_;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
  };

  [[nodiscard]] bool may_start(OpId id);
  void enqueue(OpId id);

  const Schedule& schedule_;
  std::vector<State> states_;
  std::vector<std::uint32_t> successors_begin_;  ///< operation → its part of successors_
  std::vector<OpId> successors_;
  Queue messages_, locals_;
  std::size_t unfinished_ = 0;
  std::size_t max_active_messages_ = 0;
};

}  // namespace antiphon
