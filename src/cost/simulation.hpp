// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "antiphon/cost.hpp"
#include "antiphon/progress.hpp"
#include "cost/connections.hpp"
#include "cost/events.hpp"
#include "cost/messages.hpp"
#include "cost/multicasts.hpp"
#include "cost/ports.hpp"
#include "cost/rank_processors.hpp"
#include "cost/symmetry.hpp"
#include "cost/work.hpp"

namespace antiphon {

/// Runs schedules on a cluster in model time. Only the ranks that stand for all run: what such a rank sends over some
/// distance stands for what it receives over the same distance from its other side.
class CostSimulation : private RankProcessors::Program {
 public:
  CostSimulation(std::span<const Schedule> schedules, const Cluster& cluster, const Symmetry& symmetry,
                 const EvaluationOptions& options);
  Evaluation run();

 private:
  using Piece = Progress::Piece;

  void start_what_may(int rank, double now) override;
  void receive_ends(MessageId id, double now) override;

  void handle(const Event& event);
  void post_send(int rank, const Op& op, const Piece& piece, double now);
  void post_receive(int rank, const Op& op, const Piece& piece, double now);
  void post_multicast(int rank, const Op& op, const Piece& piece, double now);
  void compute(int rank, const Op& op, const Piece& piece, double now);
  void arrived(MessageId id, double now);
  void left(MessageId id, double now);
  void send_ends(const Message& message);
  void busy_until(int rank, double time_s);
  void count_pieces(std::size_t pieces);
  void mark(int rank, OpId op, double now);
  void check_end() const;

  std::span<const Schedule> schedules_;
  const Cluster& cluster_;
  Symmetry symmetry_;
  EvaluationOptions options_;
  Work work_;
  Messages messages_;
  Events events_;
  NetworkPorts ports_;
  RankProcessors processors_;
  Connections connections_;
  Multicasts multicasts_;
  std::vector<std::unique_ptr<Progress>> progress_;
  Evaluation result_;
};

}  // namespace antiphon
