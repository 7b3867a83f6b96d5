// SPDX-License-Identifier: Apache-2.0
// What an MPI library was told about its transport: by its build, its settings and the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace antiphon::network {

/// Returns the value of a setting of the library or of an environment variable.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

struct Told {
  std::string transport;   ///< "tcp", "other", or empty: the library chooses for itself
  std::string component;   ///< "ob1/tcp", "ucx", "ofi/cxi": the parts of the library, as far as they are known
  std::string interfaces;  ///< "eth0,eth1", if any are named
  std::string source;      ///< the settings that say so
};

/// `library` is the text of MPI_Get_library_version.
Told read_told(const std::string& library, const Lookup& lookup);

}  // namespace antiphon::network
