// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "schedule/fifo.hpp"

namespace antiphon {

/// Messages with the same channel match in the order in which they are posted.
struct Channel {
  int from = 0;
  int to = 0;
  int tag = 0;
  bool multicast = false;
  bool operator==(const Channel&) const = default;
};

struct ChannelHash {
  std::size_t operator()(const Channel& c) const {
    const auto ranks = static_cast<std::uint64_t>(c.from) << 32 | static_cast<std::uint32_t>(c.to);
    const auto kind = 2 * static_cast<std::uint64_t>(c.tag) + (c.multicast ? 1 : 0);
    return static_cast<std::size_t>((ranks * 0x9e3779b97f4a7c15ULL) ^ (kind * 0xc2b2ae3d27d4eb4fULL));
  }
};

enum class Side : std::uint8_t { send, receive };

/// Pairs sends with receives as MPI does: in each channel the first with the first, the second with the second.
template <class Post>
class Matching {
 public:
  /// Returns the oldest waiting post of the other side. Where none waits, it returns nothing, and what `make()` returns
  /// waits.
  template <class Make>
  std::optional<Post> match(const Channel& channel, Side side, Make make) {
    Waiting& waiting = channels_[channel];
    if (!waiting.posts.empty() && waiting.side != side) {
      --waiting_;
      return waiting.posts.pop();
    }
    waiting.side = side;
    waiting.posts.push(make());
    ++waiting_;
    return std::nullopt;
  }
  /// Returns whether nothing waits.
  [[nodiscard]] bool empty() const { return waiting_ == 0; }

 private:
  /// Only one side of a channel can wait at a time.
  struct Waiting {
    Side side = Side::send;
    Fifo<Post> posts;
  };

  std::unordered_map<Channel, Waiting, ChannelHash> channels_;
  std::size_t waiting_ = 0;
};

}  // namespace antiphon
