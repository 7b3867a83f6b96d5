// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <cerrno>
#include <utility>

#include "multicast/address.hpp"
#include "multicast/bytes.hpp"

namespace antiphon::multicast {

Endpoint Endpoint::open(const Address& address, int receive_buffer_bytes) {
  if (address.family != 4 && address.family != 6) throw InvalidArgument("multicast: an endpoint needs an address");
  const SystemAddress own = to_system(address);
  const int socket = ::socket(own.storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) throw NetworkError(system_reason("socket"));
  Endpoint endpoint(socket, Place{address, {}});
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  // The buffer is small because what waits in it delays repairs. It holds some 110 packets, 1.3 ms at 1 Gb/s.
  const int send_buffer_bytes = 128 << 10;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
  if (::bind(socket, own.get(), own.length) != 0) {
    throw NetworkError(system_reason("bind") + " (" + address.text() + ")\nhint: the address must be one of this host");
  }
  int granted = 0;
  socklen_t length = sizeof granted;
  if (::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &granted, &length) != 0)
    throw NetworkError(system_reason("getsockopt"));
  put(reinterpret_cast<std::byte*>(endpoint.place_.receive_buffer.data()), static_cast<std::uint32_t>(granted));
  SystemAddress bound;
  bound.length = sizeof bound.storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound.storage), &bound.length) != 0)
    throw NetworkError(system_reason("getsockname"));
  set_port(endpoint.place_.address, port_of(from_system(bound.get())));
  return endpoint;
}

Endpoint::Endpoint(Endpoint&& other) noexcept : socket_(std::exchange(other.socket_, -1)), place_(other.place_) {}

Endpoint& Endpoint::operator=(Endpoint&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(place_, other.place_);
  return *this;
}

Endpoint::~Endpoint() {
  if (socket_ >= 0) ::close(socket_);
}

int Endpoint::release() { return std::exchange(socket_, -1); }

}  // namespace antiphon::multicast
