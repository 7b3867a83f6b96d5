// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

/// Exchanges data between the measuring processes over TCP, through the first of them, besides multicast.
class Meeting {
 public:
  /// `first` is the address where member 0 listens, such as "10.77.0.1:7000". Throws std::runtime_error.
  Meeting(int index, int size, const std::string& first);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// Returns everyone's bytes in the order of members; all must pass the same number of bytes.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own);
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  std::vector<T> gather(const T& own) {
    std::vector<T> result;
    for (const auto& bytes : gather(std::as_bytes(std::span(&own, 1))))
      result.push_back(*reinterpret_cast<const T*>(bytes.data()));
    return result;
  }
  void barrier() { (void)gather(char{0}); }

 private:
  int index_;
  std::vector<int> sockets_;  ///< member 0: connections to the others, by their index − 1; the others: one, to member 0
};
