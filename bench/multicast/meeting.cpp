// SPDX-License-Identifier: Apache-2.0
#include "meeting.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

void write_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("a member has gone");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void read_all(int socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("a member has gone");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

sockaddr_in parse(const std::string& text) {
  const auto colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (colon == std::string::npos || ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    throw std::runtime_error("not an address and port: " + text);
  }
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(text.substr(colon + 1))));
  return address;
}

int make_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) fail("socket");
  const int one = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  return socket;
}

int connect_to(const sockaddr_in& address) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    const int socket = make_socket();
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
    ::close(socket);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  fail("member 0 cannot be reached");
}

}  // namespace

Meeting::Meeting(int index, int size, const std::string& first) : index_(index) {
  const sockaddr_in address = parse(first);
  if (index != 0) {
    sockets_.push_back(connect_to(address));
    write_all(sockets_.back(), std::as_bytes(std::span(&index, 1)));
    return;
  }
  sockets_.assign(static_cast<std::size_t>(size - 1), -1);
  const int listener = make_socket();
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind " + first);
  if (::listen(listener, size) != 0) fail("listen");
  for (int i = 1; i < size; ++i) {
    const int socket = ::accept(listener, nullptr, nullptr);
    if (socket < 0) fail("accept");
    int who = 0;
    read_all(socket, std::as_writable_bytes(std::span(&who, 1)));
    if (who < 1 || who >= size || sockets_[static_cast<std::size_t>(who - 1)] >= 0)
      throw std::runtime_error("a member came twice");
    sockets_[static_cast<std::size_t>(who - 1)] = socket;
  }
  ::close(listener);
}

Meeting::~Meeting() {
  for (const int socket : sockets_) ::close(socket);
}

std::vector<std::vector<std::byte>> Meeting::gather(std::span<const std::byte> own) {
  std::vector<std::byte> all;
  std::size_t count = sockets_.size() + 1;
  if (index_ == 0) {
    all.resize(count * own.size());
    std::memcpy(all.data(), own.data(), own.size());
    for (std::size_t i = 0; i < sockets_.size(); ++i)
      read_all(sockets_[i], std::span(all).subspan((i + 1) * own.size(), own.size()));
    for (const int socket : sockets_) {
      write_all(socket, std::as_bytes(std::span(&count, 1)));
      write_all(socket, all);
    }
  } else {
    write_all(sockets_[0], own);
    read_all(sockets_[0], std::as_writable_bytes(std::span(&count, 1)));
    all.resize(count * own.size());
    read_all(sockets_[0], all);
  }
  std::vector<std::vector<std::byte>> result;
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = std::span(all).subspan(i * own.size(), own.size());
    result.emplace_back(part.begin(), part.end());
  }
  return result;
}
