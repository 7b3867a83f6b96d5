// SPDX-License-Identifier: Apache-2.0
// The cores on which ranks may run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace antiphon::network {

/// A set of one machine's cores. Quotas of processor time do not count: ranks under one run at the same time, on cores
/// of their own, until it is used up.
class Cores {
 public:
  Cores() = default;
  /// The machine's first ones.
  explicit Cores(int count);

  /// Returns those of this process's affinity, or those that are online where the system does not tell.
  static Cores of_this_process();

  /// Adds those of another process on the same machine.
  void add(const Cores& other);

  /// Returns how many there are; 0: unknown.
  [[nodiscard]] int count() const;

  /// Returns a text without spaces that parse() reads.
  [[nodiscard]] std::string text() const;
  static Cores parse(std::string_view text);

 private:
  std::vector<std::uint64_t> mask_;  ///< a bit for each core
};

}  // namespace antiphon::network
