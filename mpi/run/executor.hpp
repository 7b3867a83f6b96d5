// SPDX-License-Identifier: Apache-2.0
// Runs one rank's schedule over MPI point-to-point messages.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "antiphon/codec.hpp"
#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "multicast/lanes.hpp"

namespace antiphon::mpi {

/// Where a schedule's spaces are in this call, and what its bytes are.
struct Binding {
  /// By Space. The schedule counts packed bytes; where elements lie apart in memory (a reduction's type with gaps), the
  /// executor translates: packed offset n × size_bytes is memory offset n × extent_bytes.
  std::array<std::byte*, 3> base{};
  MPI_Datatype type = MPI_BYTE;  ///< unit of messages, and of reductions
  std::int64_t size_bytes = 1;
  std::int64_t extent_bytes = 1;
  MPI_Op op = MPI_OP_NULL;
  codec::Element element = codec::Element::unknown;  ///< what encode operations may expect
  std::int64_t stream = 0;  ///< data that resembles each other has the same: encode operations then share their plans
};

/// A schedule made ready to run again and again on one communicator: all storage is allocated here, none when it runs.
class Executor {
 public:
  /// `tag_base` is added to the schedule's tags: schedules that run at the same time on one communicator keep apart by
  /// it.
  Executor(Schedule schedule, MPI_Comm comm, bool yield, int tag_base = 0);
  /// Multicasts as messages of this communicator's groups, where they can be opened, with so many senders at a time.
  /// Without, and where they cannot, a multicast is a message to each receiver. Such a schedule must not run at the
  /// same time as another of its communicator.
  void use_groups(MulticastGroups& groups, int senders);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  /// Why multicasts of the last run were messages to each receiver; null where they were not.
  [[nodiscard]] const std::string* why_no_groups() const { return lanes_ ? lanes_->why_not() : nullptr; }
  /// Returns an MPI error code. The communicator's error handler must be MPI_ERRORS_RETURN.
  int run(const Binding& binding);
  /// The same in steps that do not wait: begin() starts what can be started, and advance() goes on as far as it can.
  /// The binding must stay until done().
  int begin(const Binding& binding);
  int advance();
  [[nodiscard]] bool done() const { return progress_.done(); }

 private:
  void make_room(std::size_t messages, bool encoded);
  int start(const Progress::Piece& piece);
  int post(const Op& op, const Progress::Piece& piece, int peer, int tag, bool sends);
  int start_multicast(const Op& op, const Progress::Piece& piece);
  int pass_on(const Op& op, const Progress::Piece& piece);
  int advance_multicasts(bool& moved);
  [[nodiscard]] bool library_is_needed() const;
  int move_library_on();
  [[nodiscard]] MulticastPart part(OpId op) const { return lanes_ ? lanes_->part(op) : MulticastPart::fan_out; }
  [[nodiscard]] bool stuck() const { return active_ == 0 && !(lanes_ && lanes_->busy()); }
  int multicast(const Op& op, const Progress::Piece& piece);
  int run_local(const Op& op, const Progress::Piece& piece);
  int copy(const std::byte* from, std::byte* to, std::int64_t bytes);
  int encode(std::byte* slot, const std::byte* from, std::int64_t bytes, bool last);
  static int decode(std::byte* to, const std::byte* slot, std::int64_t bytes);
  int start_all();
  int wait_some();
  int test_some(int& count);
  int retire(int count);
  void note_frames(int count);
  int complete(const Progress::Piece& piece);
  [[nodiscard]] std::byte* address(const Range& range) const;

  Schedule schedule_;
  Progress progress_;
  MPI_Comm comm_;
  int rank_ = 0;
  bool yield_;
  int tag_base_;
  const Binding* binding_ = nullptr;
  /// Requests under way, densely at the front, and whose they are.
  std::vector<MPI_Request> requests_;
  std::vector<Progress::Piece> owners_;
  std::vector<int> completed_;
  std::vector<MPI_Status> statuses_;  ///< empty where no message carries encoded data
  int active_ = 0;
  int looks_ = 0;                    ///< for packets, since anything moved
  std::int64_t slept_ns_ = 0;        ///< in vain, since then, at most
  std::int64_t message_pieces_ = 0;  ///< all messages of a run; −1: not counted
  /// Multicasts, and with groups their receives: of each piece under way, by its index modulo the largest window, the
  /// messages that are.
  std::unordered_map<OpId, std::array<int, Progress::max_window>> fan_out_;
  std::vector<std::byte> frame_;           ///< room in which to encode
  std::int64_t comm_key_ = 0;              ///< tells its data from other communicators'
  std::unique_ptr<MulticastLanes> lanes_;  ///< where multicasts go through groups
};

}  // namespace antiphon::mpi
