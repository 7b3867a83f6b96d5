// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>

#include "exchange.hpp"

namespace bench {

/// A way to exchange a pattern, made for one exchange. All ranks must make the same one.
class Exchanger {
 public:
  virtual ~Exchanger() = default;
  virtual void call() = 0;
  /// What really ran, for human readers.
  [[nodiscard]] virtual std::string chosen() const = 0;
};

/// What contenders share: a communicator of their own and the facts about the machine.
struct Setting {
  MPI_Comm comm = MPI_COMM_NULL;
  antiphon::Fabric fabric;
  bool yield = false;  ///< this program's executors give the core away when nothing moves
};

/// Makes an exchanger from "KIND" or "KIND:ARGUMENT"; contender_usage lists the kinds. Throws UsageError for others,
/// and returns nullptr if this library or process cannot take part.
std::unique_ptr<Exchanger> make_exchanger(const std::string& words, Exchange& exchange, const Setting& setting);

/// Paper 1's level 1, 2 or 3 through the C API; nullptr without the preload object.
std::unique_ptr<Exchanger> make_level(int level, Exchange& exchange, const Setting& setting);

extern const char* const contender_usage;

}  // namespace bench
