// SPDX-License-Identifier: Apache-2.0
// Runs the credit protocol (antiphon/credit.hpp) over MPI point-to-point messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "antiphon/advice.hpp"
#include "antiphon/credit.hpp"
#include "antiphon/problem.hpp"
#include "run/coding.hpp"
#include "run/requests.hpp"
#include "run/runner.hpp"
#include "run/waiting.hpp"

namespace antiphon::mpi {

/// Runs an alltoallv under the credit protocol. One object per communicator serves all its calls of any sizes, and it
/// allocates only when something grows. Exchanges that are under way at the same time on one communicator need
/// different tags: `first_tag` and the next.
class Exchange final : public Runner {
 public:
  /// Schedules use tags from 0 up on the same communicator. The protocol's tags lie above them, so that a call may
  /// follow a schedule's without a pause.
  static constexpr int default_first_tag = 30000;

  struct Options {
    CreditLimits limits;
    double patience_s = 0;  ///< in step; StepPatience::usual_s() suits messages of usual length
    Yields yields = Yields::here;
    int first_tag = default_first_tag;
    /// Data of at least so many bytes, which both ends know, travel as frames; 0: none do. Equal on all ranks.
    std::int64_t encode_bytes = 0;
    CodingTerms coding;
  };
  Exchange(MPI_Comm comm, int rank, int size, const Options& options);
  ~Exchange() override { let_go(); }

  /// Says what the next runs exchange: the blocks of `problem` (an alltoallv). The problem and the steps must stay
  /// while they run.
  void prepare(const Problem& problem, const Way& way) {
    problem_ = &problem;
    way_ = way;
  }
  /// As CreditExchange::set_unattended(), for the next runs.
  void set_unattended(std::int64_t at_once_bytes) { protocol_.set_unattended(at_once_bytes); }
  /// Changes Options::first_tag between two runs.
  void use_tags(int first_tag) { first_tag_ = first_tag; }
  /// Tells whether this rank lost its patience in the last run.
  [[nodiscard]] bool stalled() const { return stalled_; }

  [[nodiscard]] std::int64_t scratch_bytes() const override { return 0; }
  int begin(const Binding& binding) override;
  [[nodiscard]] bool done() const override { return library_finished_ || protocol_.done(); }
  [[nodiscard]] bool any_under_way() const override { return requests_.active() > 0; }

 private:
  using Action = CreditExchange::Action;
  /// Says what a request is for, and holds the grant or the frame that it carries, if any.
  struct Owner {
    Action action;
    std::int64_t* grant = nullptr;
    std::byte* slot = nullptr;
  };

  int go_on(Waiting& waiting) override;
  void let_go();
  int start_all();
  int start(const Action& action);
  int start_data(const Action& action, bool sends);
  int start_frame(const Action& action, bool sends);
  int start_grant(const Action& action, bool sends);
  void note_frame_lengths();
  int finish(const Owner& owner);
  int take_frame(const Owner& owner);
  [[nodiscard]] std::span<const std::byte> data_to_send(const Action& action) const;
  [[nodiscard]] std::span<std::byte> place_of(const Action& action) const;
  [[nodiscard]] bool is_encoded(const Action& action) const {
    return encode_bytes_ > 0 && action.bytes >= encode_bytes_;
  }
  void copy_own_block() const;
  void look_at_clock();
  std::int64_t* new_grant();
  std::byte* new_slot();

  CreditExchange protocol_;
  MPI_Comm comm_;
  int first_tag_;
  double least_patience_s_;
  StepPatience patience_;
  bool stalled_ = false;
  int failure_ = MPI_SUCCESS;      ///< of a frame that could not be decoded
  bool library_finished_ = false;  ///< the library has waited for all the rest; the protocol does not learn of it
  const Problem* problem_ = nullptr;
  Way way_;
  const Binding* binding_ = nullptr;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  Requests<Owner> requests_;
  std::deque<std::int64_t> grants_;  ///< a deque, because grants must keep their addresses while it grows
  std::vector<std::int64_t*> free_grants_;
  std::int64_t encode_bytes_;
  PieceCoder coder_;
  std::size_t slot_bytes_ = 0;
  std::deque<std::vector<std::byte>> slots_;  ///< frames that are under way, or have been
  std::vector<std::byte*> free_slots_;
};

}  // namespace antiphon::mpi
