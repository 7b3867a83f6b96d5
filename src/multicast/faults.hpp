// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <random>
#include <vector>

#include "antiphon/multicast.hpp"
#include "multicast/wire.hpp"

namespace antiphon::multicast {

/// A stage between a wire and the protocol that loses, doubles, damages, reorders and delays incoming packets. A seed
/// determines its choices.
class FaultyWire final : public Wire {
 public:
  FaultyWire(Wire& wire, const Faults& faults) : wire_(wire), faults_(faults), random_(faults.seed) {}

  std::int64_t now_ns() override { return wire_.now_ns(); }
  std::size_t send(std::span<const Datagram> packets) override { return wire_.send(packets); }
  std::span<const std::span<const std::byte>> receive() override;
  void wait(std::int64_t most_ns) override;
  void rejoin() override { wire_.rejoin(); }
  [[nodiscard]] std::uint64_t overflows() const override { return wire_.overflows(); }
  [[nodiscard]] std::uint64_t system_calls() const override { return wire_.system_calls(); }

 private:
  struct HeldPacket {
    std::vector<std::byte> bytes;
    std::int64_t until_ns;  ///< the packet is delivered at this time …
    int overtaken_by;       ///< … or after this many other packets
  };
  bool chance(double probability) {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }
  void pass(std::span<const std::byte> packet);
  void deliver(std::vector<std::byte> packet);

  Wire& wire_;
  Faults faults_;
  std::mt19937_64 random_;
  std::deque<HeldPacket> held_;
  std::vector<std::vector<std::byte>> delivered_;
  std::vector<std::span<const std::byte>> views_;
};

}  // namespace antiphon::multicast
