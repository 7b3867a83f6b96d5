// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "multicast/courier.hpp"
#include "multicast/in_stream.hpp"
#include "multicast/out_stream.hpp"
#include "multicast/timing.hpp"

namespace antiphon::multicast {

/// A sender repairs at most this many packets before it looks for what has come.
inline constexpr std::size_t again_at_once = 32;

/// The state that the engine and the strategy of a member share.
struct Core {
  Core(Wire& wire, const Description& description, int index, const LocalOptions& local);

  const Description description;
  const int index, size;
  const int payload_bytes;   ///< of a data packet
  const int window_packets;  ///< most packets of one sender in transit
  Statistics statistics;
  Courier courier;
  OutStream out;
  std::vector<InStream> in;            ///< one per member; the member's own entry is unused
  std::vector<std::int64_t> heard_ns;  ///< by member: when the last packet of it came
  std::mt19937_64 random;
  std::int64_t now_ns;         ///< by the protocol's clock: the wire's without pauses
  std::int64_t paused_ns = 0;  ///< the pauses so far
  std::int64_t sent_ns = 0;    ///< when the last new data packet was sent
  std::optional<Failure> failure;

  [[nodiscard]] const Options& options() const { return description.options; }
  /// Reads the wire's clock. Of a time without a reading little counts: a member that is stopped hears nobody, so it
  /// must not take that for the others' silence.
  void read_clock(Wire& wire);
  /// Returns what the wire's clock was at the last reading.
  [[nodiscard]] std::int64_t read_ns() const { return now_ns + paused_ns; }
  void fail(Failure::Kind kind, int member, const std::string& text);
  /// Fails if nothing has come from `member` for too long, counted from `since_ns` at the earliest. Returns true then.
  bool lose_if_silent(int member, std::int64_t since_ns);
};

/// How lost packets are detected and repaired: one file per strategy (nack_strategy.cpp, ack_strategy.cpp).
class Reliability {
 public:
  virtual ~Reliability() = default;
  static std::unique_ptr<Reliability> create(Core& core);

  // The receiver's side.
  /// Called when a data packet of `sender` has come; `outcome` says what became of it.
  virtual void data(int sender, const Data& data, InStream::Outcome outcome) = 0;
  /// Called when receives were posted for `sender`, or when it told how far it has sent.
  virtual void changed(int sender) = 0;
  virtual void heartbeat(int sender, const Heartbeat& heartbeat) = 0;

  // The sender's side.
  virtual void ack(int from, const Ack& ack) = 0;
  virtual void nack(int from, const Nack& nack) = 0;
  virtual void receipt(int from, const Receipt& receipt) = 0;
  /// Called when new packets up to core.out.sent() have been sent.
  virtual void sent() = 0;
  /// Repeats the packets that are due. Returns true if it sent anything.
  virtual bool send_again() = 0;

  /// Does what is due. Returns the latest time at which it must be called again.
  virtual std::int64_t tick() = 0;
};

std::unique_ptr<Reliability> make_nack_strategy(Core& core);
std::unique_ptr<Reliability> make_ack_strategy(Core& core);

}  // namespace antiphon::multicast
