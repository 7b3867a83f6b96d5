// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "multicast/core.hpp"
#include "multicast/probe.hpp"

namespace antiphon::multicast {

/// The protocol of one member over any wire. Not thread-safe.
class Engine {
 public:
  Engine(Wire& wire, const Description& description, int index, const LocalOptions& local);

  Ticket send(std::span<const std::byte> bytes, const SendOptions& options);
  Ticket receive(int sender, std::int64_t message_bytes, std::span<const Part> parts);
  /// Receives, sends, and does what is due. Returns false if there was nothing to do.
  bool progress();
  /// The latest time, by the wire's clock, at which progress() has something to do if no packet comes.
  [[nodiscard]] std::int64_t due_ns() const { return due_ns_ == never ? never : due_ns_ + core_.paused_ns; }

  [[nodiscard]] bool done(const Ticket& ticket) const;
  [[nodiscard]] std::int64_t ready_bytes(const Ticket& ticket) const;
  [[nodiscard]] bool drained() const;
  [[nodiscard]] const Core& core() const { return core_; }
  [[nodiscard]] Statistics statistics() const;

  Probing& probing() { return probing_; }

 private:
  bool take_in();
  void take(std::span<const std::byte> packet);
  void notice_deafness(const Head& head);
  void take_data(int from, std::span<const std::byte> body);
  void take_nack(int from, std::span<const std::byte> body);
  void take_lost(int from, const Lost& lost);
  void malformed() { ++core_.statistics.malformed; }
  bool send_out();
  void watch_senders();
  bool after_failure();

  Wire& wire_;
  Core core_;
  Probing probing_;
  std::unique_ptr<Reliability> reliability_;
  std::int64_t due_ns_ = 0;
  std::int64_t watch_ns_ = 0;                   ///< when to check awaited senders next
  std::size_t batch_ = 32;                      ///< data packets to hand to the wire next
  std::int64_t paced_until_ns_ = 0;             ///< no new packet is sent before this time
  std::vector<std::int64_t> waiting_since_ns_;  ///< by sender: since when receives have been open
  std::vector<std::int64_t> asked_ns_;          ///< by sender: when it was last asked whether it is alive
  std::vector<std::int64_t> ask_again_ns_;      ///< by sender: how long to wait before it is asked again
  std::int64_t heard_all_ns_ = 0;               ///< when the last packet sent to all came
  std::int64_t rejoin_after_ns_;                ///< how long without such packets before it joins again
  int alone_ = 0;                               ///< data packets since then that were sent to this member alone
  std::vector<std::int64_t> told_ns_;           ///< by member: when it was last told of the failure
};

}  // namespace antiphon::multicast
