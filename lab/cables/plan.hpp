// SPDX-License-Identifier: Apache-2.0
// What the lab wants of the cables, as JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cables/queue.hpp"

namespace antiphon::cables {

/// One direction: what the kernel gives on descriptor `from` goes to descriptor `to`.
struct Direction {
  std::string name;  ///< of the interface whose packets these are
  int from;
  int to;
  Terms terms;
  std::optional<std::size_t> pool;  ///< an index into Plan::pools_bytes
};

struct Plan {
  std::vector<std::int64_t> pools_bytes;
  std::vector<Direction> directions;
  std::string counts_file;  ///< is written anew as they change; empty: no file

  /// Throws FormatError.
  static Plan parse(std::string_view text);
};

}  // namespace antiphon::cables
