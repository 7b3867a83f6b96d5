// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>

#include "exchange.hpp"

namespace bench {

/// One way to exchange a pattern. Made for one exchange; all ranks make the same one.
class Exchanger {
 public:
  virtual ~Exchanger() = default;
  virtual void call() = 0;
  /// What really ran, for people.
  [[nodiscard]] virtual std::string chosen() const = 0;
};

/// What contenders share: a communicator of their own and what they know of the machine.
struct Setting {
  MPI_Comm comm = MPI_COMM_NULL;
  antiphon::Fabric fabric;
  bool yield = false;  ///< executors of this program give the core away when nothing moves
};

/// From "KIND" or "KIND:ARGUMENT"; the kinds are listed in contender_usage. Throws UsageError for others; nothing where
/// this library or process cannot take part.
std::unique_ptr<Exchanger> make_exchanger(const std::string& words, Exchange& exchange, const Setting& setting);

/// Paper 1's level 1, 2 or 3 through the C API; nothing without the preload object.
std::unique_ptr<Exchanger> make_level(int level, Exchange& exchange, const Setting& setting);

extern const char* const contender_usage;

}  // namespace bench
