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
  int value = 0;                        ///< the value of the library's variable
  std::vector<std::string> parameters;  ///< names that a choice may set, such as "segmentsize" or "tree_kval"
};

/// The library's algorithms for `collective`; empty if it lists none or has no tool interface that we know.
std::vector<LibraryAlgorithm> library_algorithms(std::string_view collective);

/// Prints one line of JSON for each of them.
void print_library_algorithms();

struct LibraryVariable;

/// Makes the library use one of its own algorithms for one collective during this object's lifetime. Open MPI reads the
/// setting when a communicator is made, MPICH at each call. It is a local act, so all ranks must do it alike.
///
/// `choice` is "NAME[:PARAMETER=VALUE,…]". Throws UsageError if the library has no such algorithm or parameter.
class LibraryForcing {
 public:
  LibraryForcing(std::string_view collective, std::string_view choice);
  ~LibraryForcing();
  LibraryForcing(const LibraryForcing&) = delete;
  LibraryForcing& operator=(const LibraryForcing&) = delete;

  /// Tells whether this object must live during calls, or only while the communicator is made.
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
