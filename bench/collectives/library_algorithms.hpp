// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// One algorithm that the MPI library itself has for a collective, as its tool interface lists it.
struct LibraryAlgorithm {
  std::string name;
  int value = 0;                        ///< what the library's variable is set to
  std::vector<std::string> parameters;  ///< names that a choice may set, as "segmentsize" or "tree_kval"
};

/// The library's algorithms for `collective`; empty where it lists none (or has no tool interface we know).
std::vector<LibraryAlgorithm> library_algorithms(std::string_view collective);

/// One line of JSON for each of them.
void print_library_algorithms();

struct LibraryVariable;

/// Makes the library use one of its own algorithms for one collective, for as long as this lives: Open MPI looks when a
/// communicator is made, MPICH at each call. A local act, hence to be done by all ranks alike.
///
/// `choice` is "NAME[:PARAMETER=VALUE,…]". Throws UsageError where the library has no such algorithm or parameter.
class LibraryForcing {
 public:
  LibraryForcing(std::string_view collective, std::string_view choice);
  ~LibraryForcing();
  LibraryForcing(const LibraryForcing&) = delete;
  LibraryForcing& operator=(const LibraryForcing&) = delete;

  /// Whether calls must be made while this lives, or the communicator alone remembers it.
  [[nodiscard]] static bool at_each_call();

 private:
  struct Saved {
    const LibraryVariable* variable;
    std::string value;
  };
  void set(const std::string& name, const std::string& value);
  std::vector<Saved> saved_;
};

}  // namespace bench
