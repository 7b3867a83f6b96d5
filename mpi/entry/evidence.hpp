// SPDX-License-Identifier: Apache-2.0
// Evidence from the run: the ways to do one collective, for a class of sizes on one communicator, take turns.
// docs/concepts/adapting.md explains it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "antiphon/adapt.hpp"
#include "antiphon/select.hpp"
#include "entry/comm_shape.hpp"
#include "json/json.hpp"
#include "observe/time_left.hpp"

namespace antiphon::mpi {

class Evidence {
 public:
  /// Says which calls this is about.
  struct Calls {
    Collective collective{};
    SizeClass sizes;
    bool commutative = true;
    bool exact = true;         ///< see Question::exact
    bool nonblocking = false;  ///< the time that counts is what is left beside the program's computation
    bool operator==(const Calls&) const = default;
  };
  /// What the model expects of a call; 0 where it expects nothing.
  struct Expected {
    double in_use_s = 0;  ///< by the first way
    double other_s = 0;   ///< by the second
  };
  /// `ways` are different; the first is the choice of the rules. The shape must outlive this.
  Evidence(const Calls& calls, std::vector<Choice> ways, const Expected& expected, const CommShape& shape);
  ~Evidence() { finish_sharing(); }
  Evidence(const Evidence&) = delete;
  Evidence& operator=(const Evidence&) = delete;

  [[nodiscard]] bool is_for(const Calls& calls, const std::vector<Choice>& ways) const;

  /// Begins a call and returns its way, the same on all ranks. If the call is timed(), end() must follow.
  const Choice& begin();
  [[nodiscard]] bool timed() const { return timed_; }
  /// Counts a call that goes the way in use. Returns false if that needs begin() instead.
  bool pass() {
    if (due_ || is_sharing_ || turns_.timed()) return false;
    ++number_;
    turns_.done(Turns::no_time);  // never the last call of a round
    return true;
  }
  /// Returns the text of the way of the current call.
  [[nodiscard]] const std::string& text() const { return texts_[way_]; }
  /// Ends a timed call; `as_chosen` says that it went the chosen way. Returns true if the ranks must agree() now.
  bool end(bool as_chosen);
  /// Ends the start of a timed nonblocking call with this request; null: it did not go the chosen way. Its time is what
  /// is left of it (observe/time_left.hpp). Returns true if the ranks must agree() at their next chance to wait.
  bool started(const MPI_Request* request);
  /// Agrees with the other ranks. `comm` is null if they must not wait for each other now, alike on all ranks. Where
  /// calls overlap and it is Antiphon's own, which nobody else frees, this begins to agree, and goes on some calls
  /// later, when end() returns true again.
  void agree(MPI_Comm comm, bool comm_is_own);
  /// Tells whether ranks have agreed once, and do so again without waiting if they have a communicator for that.
  [[nodiscard]] bool wants_own_comm() const { return agreed_ && turns_.in_rows(); }
  /// Waits for what was begun, if anything; all ranks have begun it. Returns false if that failed.
  bool finish_sharing();

  /// Returns what the summary says; null if nothing was tried.
  [[nodiscard]] Json row() const;
  /// Returns what was learned as a rule (docs/reference/rules.md); null if nothing was.
  [[nodiscard]] Json rule() const;
  [[nodiscard]] int rank() const { return shape_.rank; }

  /// Takes over what another communicator with the same calls, ways and nodes knew, if at the next agreement all ranks
  /// turn out to offer the same.
  void offer(const Turns& known) { offered_ = known; }
  /// Names these calls, ways and nodes.
  [[nodiscard]] std::string name_of_all() const;
  [[nodiscard]] const Turns& turns() const { return turns_; }

 private:
  void take_times();
  void begin_sharing(MPI_Comm comm);
  void look_at_sharing();
  void conclude();
  [[nodiscard]] std::string why() const;
  void announce() const;

  Calls calls_;
  const CommShape& shape_;
  std::vector<Choice> ways_;
  std::vector<std::string> texts_;
  Turns turns_;
  std::string measured_;  ///< by the last comparison that has ended in this run, in words
  std::optional<Turns> offered_;
  bool agreed_ = false;  ///< once
  bool rides_ = false;   ///< ranks agree while calls go on
  /// The numbers that ranks agree on, while that is under way, and how long it holds this rank up.
  std::vector<std::int64_t> shared_;
  MPI_Request sharing_ = MPI_REQUEST_NULL;
  bool is_sharing_ = false;
  double sharing_s_ = 0;
  Turns::Meanwhile meanwhile_;     ///< since it began
  std::uint64_t conclude_at_ = 0;  ///< call since then
  std::int64_t number_ = 0;        ///< of calls
  std::size_t way_ = 0;
  bool timed_ = false;
  double began_s_ = 0;
  std::vector<std::shared_ptr<const TimeLeft>> left_;  ///< of this round's timed nonblocking calls
  bool due_ = false;                                   ///< the round is over, and the ranks have not agreed
};

}  // namespace antiphon::mpi
