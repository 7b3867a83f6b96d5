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

/// What the engine and the strategy of a member share.
struct Core {
  Core(Wire& wire, const Description& description, int index, const LocalOptions& local);

  const Description description;
  const int index, size;
  const int payload_bytes;   ///< of a data packet
  const int window_packets;  ///< the most of one sender under way
  Statistics statistics;
  Courier courier;
  OutStream out;
  std::vector<InStream> in;            ///< one a member; one's own is not used
  std::vector<std::int64_t> heard_ns;  ///< when something of a member came last
  std::mt19937_64 random;
  std::int64_t now_ns = 0;
  std::int64_t sent_ns = 0;  ///< when a new data packet went out last
  std::optional<Failure> failure;

  [[nodiscard]] const Options& options() const { return description.options; }
  void fail(Failure::Kind kind, int member, const std::string& text);
  /// Fails, if nothing has come from `member` since `since_ns` or later for too long. True if so.
  bool lose_if_silent(int member, std::int64_t since_ns);
};

/// How lost packets are found and repaired: one file each (nack_strategy.cpp, ack_strategy.cpp).
class Reliability {
 public:
  virtual ~Reliability() = default;
  static std::unique_ptr<Reliability> create(Core& core);

  // The receiver's side.
  /// A data packet of `sender` has come, and what became of it.
  virtual void data(int sender, const Data& data, InStream::Outcome outcome) = 0;
  /// Receives were posted for `sender`, or it said how far it is.
  virtual void changed(int sender) = 0;
  virtual void heartbeat(int sender, const Heartbeat& heartbeat) = 0;

  // The sender's side.
  virtual void ack(int from, const Ack& ack) = 0;
  virtual void nack(int from, const Nack& nack) = 0;
  virtual void receipt(int from, const Receipt& receipt) = 0;
  /// New packets up to core.out.sent() are on their way.
  virtual void sent() = 0;
  /// Sends again what is due. True if it sent anything.
  virtual bool send_again() = 0;

  /// Does what is due; when it wants to be called again at the latest.
  virtual std::int64_t tick() = 0;
};

std::unique_ptr<Reliability> make_nack_strategy(Core& core);
std::unique_ptr<Reliability> make_ack_strategy(Core& core);

}  // namespace antiphon::multicast
