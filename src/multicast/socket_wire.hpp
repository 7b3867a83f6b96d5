// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "multicast/address.hpp"
#include "multicast/wire.hpp"

namespace antiphon::multicast {

/// UDP sockets of Linux: the member's own, which sends everything, and one that has joined the group. One system call
/// moves many packets; where the kernel can, runs of packets of one size and destination go as one (UDP_SEGMENT).
class SocketWire final : public Wire {
 public:
  SocketWire(const Description& description, int index, Endpoint endpoint);
  ~SocketWire() override;
  SocketWire(const SocketWire&) = delete;
  SocketWire& operator=(const SocketWire&) = delete;

  std::int64_t now_ns() override;
  std::size_t send(std::span<const Datagram> packets) override;
  std::span<const std::span<const std::byte>> receive() override;
  void wait(std::int64_t most_ns) override;  ///< another thread may use the wire meanwhile
  void rejoin() override;
  [[nodiscard]] std::array<int, 2> sockets() const { return {group_, own_}; }
  [[nodiscard]] std::uint64_t overflows() const override;
  [[nodiscard]] std::uint64_t system_calls() const override { return system_calls_; }

 private:
  static constexpr std::size_t batch = 32;
  void join(const Description& description, unsigned interface);
  bool set_membership(bool member);
  void set_up_sending(const Description& description, int index, unsigned interface);
  std::size_t fill(std::span<const Datagram> packets, std::vector<std::size_t>& ends);
  std::size_t take(std::size_t which);
  [[nodiscard]] unsigned look() const;

  int own_ = -1, group_ = -1, looked_at_ = -1;  ///< looked_at_ is an epoll over the other two
  unsigned ready_ = 0;                          ///< sockets that may have more packets, one bit each
  bool emptied_ = false;                        ///< the last look found no more
  std::vector<SystemAddress> members_;
  SystemAddress group_address_;
  unsigned interface_ = 0;          ///< on which the group was joined
  bool segments_ = false;           ///< the kernel cuts a long send into packets
  std::atomic<bool> full_ = false;  ///< the last send took no more
  std::size_t slot_bytes_;
  std::uint64_t system_calls_ = 0;
  std::vector<std::byte> slots_;
  std::vector<mmsghdr> incoming_, outgoing_;
  std::vector<iovec> incoming_parts_, outgoing_parts_;
  std::vector<std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))>> controls_;
  std::vector<std::size_t> ends_;  ///< by message of outgoing_: number of packets up to and including it
  std::vector<std::span<const std::byte>> taken_;
};

}  // namespace antiphon::multicast
