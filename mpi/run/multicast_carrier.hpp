// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "run/waiting.hpp"

namespace antiphon::mpi {

/// Carries a schedule's multicasts in another way than as messages to each receiver. It is an interface, so that the
/// executor links without the transport. Functions that return an int return an MPI error code.
class MulticastCarrier {
 public:
  MulticastCarrier() = default;
  virtual ~MulticastCarrier() = default;
  MulticastCarrier(const MulticastCarrier&) = delete;
  MulticastCarrier& operator=(const MulticastCarrier&) = delete;

  /// Prepares a run; called before each one. Collective over the members of the schedule's groups.
  virtual void begin() = 0;
  /// Notes that the run is over; called after each one, also if it has failed.
  virtual void end() = 0;
  /// Tells whether it carries this operation in this run.
  [[nodiscard]] virtual bool carries(OpId op) const = 0;
  /// Takes a piece of a carried operation that may start now.
  virtual int start(const Progress::Piece& piece) = 0;
  /// Notes that a message of the piece has ended.
  virtual int finish_message(const Progress::Piece& piece) = 0;
  /// Tells whether anything but messages is under way.
  [[nodiscard]] virtual bool busy() const = 0;
  /// Advances while busy; may sleep as `waiting` allows, but not while messages are under way. Sets `moved` if anything
  /// ended.
  virtual int go_on(Waiting& waiting, bool& moved) = 0;

  /// Returns the most messages besides the schedule's own that are under way at one time.
  [[nodiscard]] virtual std::size_t most_messages() const = 0;
  /// Returns why it did not carry all multicasts of the last run; null if it did.
  [[nodiscard]] virtual const std::string* why_not() const = 0;
};

}  // namespace antiphon::mpi
