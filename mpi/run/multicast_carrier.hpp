// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "run/waiting.hpp"

namespace antiphon::mpi {

/// What carries a schedule's multicasts otherwise than as messages to each receiver. An interface, so that the executor
/// links without the transport. Functions that return an int return an MPI error code.
class MulticastCarrier {
 public:
  MulticastCarrier() = default;
  virtual ~MulticastCarrier() = default;
  MulticastCarrier(const MulticastCarrier&) = delete;
  MulticastCarrier& operator=(const MulticastCarrier&) = delete;

  /// Before each run. Collective over the members of the schedule's groups.
  virtual void begin() = 0;
  /// Whether it carries this operation in this run.
  [[nodiscard]] virtual bool carries(OpId op) const = 0;
  /// The piece of a carried operation may start.
  virtual int start(const Progress::Piece& piece) = 0;
  /// A message of the piece has ended.
  virtual int finish_message(const Progress::Piece& piece) = 0;
  /// Whether anything but messages is under way.
  [[nodiscard]] virtual bool busy() const = 0;
  /// Goes on while busy; may sleep as `waiting` allows, but not while messages are under way. `moved`: anything ended.
  virtual int go_on(Waiting& waiting, bool& moved) = 0;

  /// The most messages besides the schedule's own that are under way at one time.
  [[nodiscard]] virtual std::size_t most_messages() const = 0;
  /// Why it did not carry all multicasts of the last run; null where it did.
  [[nodiscard]] virtual const std::string* why_not() const = 0;
};

}  // namespace antiphon::mpi
