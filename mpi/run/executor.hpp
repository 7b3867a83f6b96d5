// SPDX-License-Identifier: Apache-2.0
// Runs one rank's schedule over MPI point-to-point messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "compress/collectives.hpp"
#include "run/fan_out.hpp"
#include "run/local_operations.hpp"
#include "run/multicast_carrier.hpp"
#include "run/piece_messages.hpp"
#include "run/runner.hpp"

namespace antiphon::mpi {

/// Holds a schedule that is ready to run again and again on one communicator. It allocates all storage when it is made.
class Executor final : public Runner {
 public:
  struct Options {
    Yields yields = Yields::here;
    /// This is added to the schedule's tags, so that schedules that run at the same time on one communicator use
    /// different tags.
    int tag_base = 0;
    CodingTerms coding;
    /// Nodes by rank, so that messages within this one are counted; null: they are not. It must stay.
    const std::vector<int>* node_of_rank = nullptr;
  };
  /// The communicator's error handler must be MPI_ERRORS_RETURN.
  Executor(Schedule schedule, MPI_Comm comm, const Options& options);

  /// Holds the parts that a carrier of multicasts works with.
  struct Parts {
    const Schedule& schedule;
    Progress& progress;
    PieceMessages& messages;
    int rank;
  };
  [[nodiscard]] Parts parts() { return {schedule_, progress_, messages_, rank_}; }
  /// Sets the carrier; call it before the first run. Without a carrier, a multicast is a message to each receiver.
  void use_carrier(std::unique_ptr<MulticastCarrier> carrier);

  /// Sends what stays within the node through this memory, from the next run on; null: as the library's messages. All
  /// ranks of the node do so alike.
  void use_node_memory(NodeMemory* memory) { messages_.use_node_memory(memory); }
  /// Changes Options::tag_base between two runs.
  void use_tags(int tag_base) { messages_.use_tags(tag_base); }

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  /// Returns why multicasts of the last run were messages to each receiver; null if they were not.
  [[nodiscard]] const std::string* why_no_groups() const { return carrier_ ? carrier_->why_not() : nullptr; }

  [[nodiscard]] std::int64_t scratch_bytes() const override { return schedule_.scratch_bytes(); }
  int begin(const Binding& binding) override;
  [[nodiscard]] bool done() const override { return progress_.done(); }
  [[nodiscard]] bool any_under_way() const override { return messages_.active() > 0 || (carrier_ && carrier_->busy()); }

 private:
  using Piece = Progress::Piece;

  int go_on(Waiting& waiting) override;
  int move_on(Waiting& waiting);
  int note_end(int rc);
  int look(Waiting& waiting, bool& moved);
  int wait_for_all(bool& moved);
  int start_all();
  int start(const Piece& piece);
  int start_fan_out(const Piece& piece);
  int retire();
  int finish_message(const Piece& piece);
  [[nodiscard]] bool is_carried(OpId id, const Op& op) const {
    return op.group >= 0 && carrier_ && carrier_->carries(id);
  }

  Schedule schedule_;
  Progress progress_;
  int rank_;
  PieceMessages messages_;
  LocalOperations local_;
  FanOut fan_out_;
  std::unique_ptr<MulticastCarrier> carrier_;
  std::optional<std::size_t> all_messages_;  ///< of a run; not counted if this rank sends multicasts
  bool only_waits_ = false;                  ///< all messages of this run are under way, and none has ended
  bool reduces_;
  int failure_ = MPI_SUCCESS;  ///< of a frame that could not be decoded
  const Binding* binding_ = nullptr;
};

}  // namespace antiphon::mpi
