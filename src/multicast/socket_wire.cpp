// SPDX-License-Identifier: Apache-2.0
#include "multicast/socket_wire.hpp"

#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <algorithm>
#include <array>
#include <utility>

#include "multicast/bytes.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

namespace antiphon::multicast {

namespace {

/// The kernel cuts at most 64 KiB with all headers, and 64 packets, out of one send.
constexpr std::size_t most_segmented_bytes = 64'000, most_segments = 40;

template <typename T>
void set(int socket, int level, int option, const T& value, const char* what) {
  if (::setsockopt(socket, level, option, &value, sizeof value) != 0) throw NetworkError(system_reason(what));
}

/// Index of the sockets.
constexpr std::size_t of_group = 0, of_member = 1;

/// Sets an option that the wire can do without. Returns whether that worked.
template <typename T>
bool try_set(int socket, int level, int option, const T& value) {
  return ::setsockopt(socket, level, option, &value, sizeof value) == 0;
}

/// Tells the kernel to cut the message into packets of `segment_bytes`.
template <typename Control>
void set_segment_size(mmsghdr& message, Control& control, std::uint16_t segment_bytes) {
  message.msg_hdr.msg_control = control.data();
  message.msg_hdr.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message.msg_hdr);
  header->cmsg_level = IPPROTO_UDP;
  header->cmsg_type = UDP_SEGMENT;
  header->cmsg_len = CMSG_LEN(sizeof segment_bytes);
  std::memcpy(CMSG_DATA(header), &segment_bytes, sizeof segment_bytes);
}

}  // namespace

SocketWire::SocketWire(const Description& description, int index, Endpoint endpoint)
    : group_address_(to_system(description.group)),
      slot_bytes_((static_cast<std::size_t>(description.options.packet_bytes) + 64) / 64 * 64) {
  const Address own = endpoint.place().address;
  if (!same_host(own, description.members[static_cast<std::size_t>(index)].address))
    throw InvalidArgument("multicast group: another member's endpoint");
  const unsigned interface = interface_of(own);
  if (interface == 0) throw NetworkError("no interface has the address " + own.text() + " any more");
  for (const Place& member : description.members) members_.push_back(to_system(member.address));
  own_ = endpoint.release();
  try {
    set_up_sending(description, index, interface);
    join(description, interface);
    looked_at_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (const std::size_t which : {of_group, of_member}) {
      epoll_event wanted{EPOLLIN, {.u32 = 1U << which}};
      if (looked_at_ < 0 || ::epoll_ctl(looked_at_, EPOLL_CTL_ADD, which == of_group ? group_ : own_, &wanted) != 0)
        throw NetworkError(system_reason("epoll"));
    }
  } catch (...) {
    for (const int socket : {own_, group_, looked_at_}) {
      if (socket >= 0) ::close(socket);
    }
    throw;
  }
  slots_.resize(batch * slot_bytes_);
  incoming_.resize(batch);
  incoming_parts_.resize(batch);
  for (std::size_t i = 0; i < batch; ++i) {
    incoming_parts_[i] = {slots_.data() + i * slot_bytes_, slot_bytes_};
    incoming_[i] = {};
    incoming_[i].msg_hdr.msg_iov = &incoming_parts_[i];
    incoming_[i].msg_hdr.msg_iovlen = 1;
  }
}

SocketWire::~SocketWire() {
  ::close(own_);
  ::close(group_);
  ::close(looked_at_);
}

void SocketWire::set_up_sending(const Description& description, int index, unsigned interface) {
  bool shares_host = false;
  for (std::size_t i = 0; i < description.members.size(); ++i) {
    const auto& members = description.members;
    shares_host = shares_host || (i != static_cast<std::size_t>(index) &&
                                  same_host(members[i].address, members[static_cast<std::size_t>(index)].address));
  }
  const int loop = shares_host ? 1 : 0, hops = 1;
  if (description.group.family == 4) {
    ip_mreqn from{};
    from.imr_ifindex = static_cast<int>(interface);
    set(own_, IPPROTO_IP, IP_MULTICAST_IF, from, "setsockopt(IP_MULTICAST_IF)");
    set(own_, IPPROTO_IP, IP_MULTICAST_TTL, hops, "setsockopt(IP_MULTICAST_TTL)");
    set(own_, IPPROTO_IP, IP_MULTICAST_LOOP, loop, "setsockopt(IP_MULTICAST_LOOP)");
  } else {
    set(own_, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface), "setsockopt(IPV6_MULTICAST_IF)");
    set(own_, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops, "setsockopt(IPV6_MULTICAST_HOPS)");
    set(own_, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loop, "setsockopt(IPV6_MULTICAST_LOOP)");
  }
  segments_ = try_set(own_, IPPROTO_UDP, UDP_SEGMENT, 0);  // 0: only where a send asks for it
}

void SocketWire::join(const Description& description, unsigned interface) {
  group_ = ::socket(group_address_.storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (group_ < 0) throw NetworkError(system_reason("socket"));
  int buffer = 0;
  socklen_t length = sizeof buffer;
  ::getsockopt(own_, SOL_SOCKET, SO_RCVBUF, &buffer, &length);
  try_set(group_, SOL_SOCKET, SO_RCVBUF, buffer / 2);  // the kernel doubles the size that it is asked for
  try_set(group_, SOL_SOCKET, SO_REUSEADDR, 1);        // allows several members on one host
  // Bound to the group's address, the socket receives nothing else, and no packets of other groups joined on this host.
  if (::bind(group_, group_address_.get(), group_address_.length) != 0)
    throw NetworkError(system_reason("bind") + " (" + description.group.text() + ")");
  if (description.group.family == 4) {
    try_set(group_, IPPROTO_IP, IP_MULTICAST_ALL, 0);
  } else {
    try_set(group_, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
  }
  interface_ = interface;
  if (!set_membership(true)) {
    throw NetworkError(system_reason("joining the multicast group") +
                       "\nhint: net.ipv4.igmp_max_memberships bounds the groups of a socket's host");
  }
}

bool SocketWire::set_membership(bool member) {
  if (group_address_.storage.ss_family == AF_INET) {
    ip_mreqn of{};
    of.imr_multiaddr = reinterpret_cast<const sockaddr_in&>(group_address_.storage).sin_addr;
    of.imr_ifindex = static_cast<int>(interface_);
    return try_set(group_, IPPROTO_IP, member ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, of);
  }
  ipv6_mreq of{};
  of.ipv6mr_multiaddr = reinterpret_cast<const sockaddr_in6&>(group_address_.storage).sin6_addr;
  of.ipv6mr_interface = interface_;
  return try_set(group_, IPPROTO_IPV6, member ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP, of);
}

/// Makes the host report its membership again, which helps if a switch has lost it.
void SocketWire::rejoin() {
  set_membership(false);
  set_membership(true);
}

std::int64_t SocketWire::now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Prepares as many packets as one call takes; `ends[i]` is the number of packets in messages 0 … i.
std::size_t SocketWire::fill(std::span<const Datagram> packets, std::vector<std::size_t>& ends) {
  packets = packets.first(std::min<std::size_t>(packets.size(), 64));
  outgoing_.clear();
  ends.clear();
  outgoing_parts_.resize(3 * packets.size());
  controls_.resize(packets.size());
  std::size_t part = 0;
  for (std::size_t i = 0; i < packets.size();) {
    const std::size_t size = packets[i].bytes();
    mmsghdr message{};
    message.msg_hdr.msg_iov = &outgoing_parts_[part];
    std::size_t bytes = 0, count = 0;
    for (; i < packets.size(); ++i) {
      const Datagram& packet = packets[i];
      // The packets of a segmented send have one size; only the last may be shorter.
      if (count > 0 &&
          (!segments_ || packet.to != packets[i - 1].to || packet.bytes() > size || packets[i - 1].bytes() != size))
        break;
      if (count == most_segments || bytes + packet.bytes() > most_segmented_bytes) break;
      for (const auto run : {packet.head, packet.payload, packet.tag}) {
        if (!run.empty()) outgoing_parts_[part++] = {const_cast<std::byte*>(run.data()), run.size()};
      }
      bytes += packet.bytes();
      ++count;
    }
    message.msg_hdr.msg_iovlen = static_cast<std::size_t>(&outgoing_parts_[0] + part - message.msg_hdr.msg_iov);
    const SystemAddress& to =
        packets[i - 1].to < 0 ? group_address_ : members_[static_cast<std::size_t>(packets[i - 1].to)];
    message.msg_hdr.msg_name = const_cast<sockaddr*>(to.get());
    message.msg_hdr.msg_namelen = to.length;
    if (count > 1) set_segment_size(message, controls_[outgoing_.size()], static_cast<std::uint16_t>(size));
    outgoing_.push_back(message);
    ends.push_back(i);
  }
  return packets.size();
}

std::size_t SocketWire::send(std::span<const Datagram> packets) {
  std::size_t sent = 0;
  full_ = false;
  while (sent < packets.size()) {
    fill(packets.subspan(sent), ends_);
    const int messages = ::sendmmsg(own_, outgoing_.data(), static_cast<unsigned>(outgoing_.size()), MSG_DONTWAIT);
    ++system_calls_;
    if (messages > 0) {
      sent += ends_[static_cast<std::size_t>(messages) - 1];
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      full_ = true;
      break;
    }
    if (segments_ && outgoing_.front().msg_hdr.msg_control != nullptr) {
      segments_ =
          false;  // this route cannot segment (for example without checksums in hardware), so packets go one by one
      continue;
    }
    sent += ends_.front();  // given up: the packets count as lost on the way
  }
  return sent;
}

/// Checks both sockets for a quarter of the cost of trying to receive on both. Ranks that wait for something else check
/// again and again.
unsigned SocketWire::look() const {
  std::array<epoll_event, 2> events{};
  const int count = ::epoll_wait(looked_at_, events.data(), static_cast<int>(events.size()), 0);
  unsigned ready = 0;
  for (int i = 0; i < count; ++i) ready |= events[static_cast<std::size_t>(i)].data.u32;
  return ready;
}

std::size_t SocketWire::take(std::size_t which) {
  int count = 0;
  do {
    count = ::recvmmsg(which == of_group ? group_ : own_, incoming_.data(), batch, MSG_DONTWAIT, nullptr);
    ++system_calls_;
  } while (count < 0 && errno == EINTR);
  const auto taken = static_cast<std::size_t>(std::max(count, 0));
  if (taken < batch) ready_ &= ~(1U << which);
  return taken;
}

std::span<const std::span<const std::byte>> SocketWire::receive() {
  taken_.clear();
  std::size_t count = 0;
  if (ready_ == 0 && !std::exchange(emptied_, false)) {
    ready_ = look();
    ++system_calls_;
  }
  while (count == 0 && ready_ != 0) count = take((ready_ & 1U << of_group) != 0 ? of_group : of_member);
  emptied_ = count > 0 && ready_ == 0;
  for (std::size_t i = 0; i < count; ++i) {
    // A packet that did not fit is not one of this protocol: it comes out short, and its tag is wrong.
    taken_.emplace_back(slots_.data() + i * slot_bytes_, incoming_[i].msg_len);
  }
  return taken_;
}

void SocketWire::wait(std::int64_t most_ns) {
  pollfd sockets[] = {{group_, POLLIN, 0}, {own_, static_cast<short>(full_ ? POLLIN | POLLOUT : POLLIN), 0}};
  const timespec most{static_cast<time_t>(most_ns / 1'000'000'000), static_cast<long>(most_ns % 1'000'000'000)};
  ::ppoll(sockets, 2, &most, nullptr);
}

std::uint64_t SocketWire::overflows() const {
  std::uint64_t sum = 0;
  for (const int socket : {own_, group_}) {
    std::uint32_t memory[SK_MEMINFO_VARS] = {};
    socklen_t length = sizeof memory;
    if (::getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0) sum += memory[SK_MEMINFO_DROPS];
  }
  return sum;
}

}  // namespace antiphon::multicast
