// SPDX-License-Identifier: Apache-2.0
// Scotch is loaded at run time where it is installed, so Antiphon builds without it.
#include "mapping/scotch_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>

#include "antiphon/error.hpp"

namespace antiphon::mapping {

namespace {

/// Storage that is larger than any of Scotch's opaque objects.
struct Opaque {
  alignas(std::max_align_t) std::array<std::byte, 1024> bytes{};
};

class Library {
 public:
  static const Library& instance() {
    static const Library library;
    return library;
  }

  [[nodiscard]] bool usable() const { return missing_.empty(); }
  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] std::size_t number_bytes() const { return number_bytes_; }

  template <class... Arguments>
  int call(const char* symbol, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (function == nullptr) throw Error(std::string("this Scotch has no ") + symbol);
    return function(arguments...);
  }

 private:
  Library() {
    // Scotch reports errors through a second library that the program chooses.
    for (const char* name : {"libscotcherr-7.0.so", "libscotcherr.so", "libscotcherr-6.1.so"}) {
      if (dlopen(name, RTLD_NOW | RTLD_GLOBAL) != nullptr) break;
    }
    for (const char* name : {"libscotch-7.0.so", "libscotch.so", "libscotch.so.7.0", "libscotch-6.1.so"}) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
    }
    if (handle_ == nullptr) {
      missing_ = "Scotch is not installed; hint: Debian's package libscotch-7.0";
      return;
    }
    number_bytes_ = dlsym(handle_, "SCOTCH_numSizeof") == nullptr ? sizeof(int)
                                                                  : static_cast<std::size_t>(call("SCOTCH_numSizeof"));
    if (number_bytes_ != 4 && number_bytes_ != 8)
      missing_ = "Scotch's numbers have " + std::to_string(number_bytes_) + " bytes";
  }

  void* handle_ = nullptr;
  std::size_t number_bytes_ = 4;
  std::string missing_;
};

void check(int status, const char* what) {
  if (status != 0) throw Error(std::string("Scotch could not ") + what);
}

/// Owns one of Scotch's objects.
class Object {
 public:
  Object(const char* begin, const char* end) : end_(end) { check(Library::instance().call(begin, get()), begin); }
  ~Object() { Library::instance().call(end_, get()); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  void* get() { return &opaque_; }

 private:
  const char* end_;
  Opaque opaque_;
};

template <class Number>
std::vector<Number> converted(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

template <class Number>
void build_machine(Object& arch, const ScotchMachine& machine) {
  const Library& scotch = Library::instance();
  const auto sizes = converted<Number>(machine.sizes);
  const auto weights = converted<Number>(machine.weights);
  const auto count = static_cast<Number>(sizes.size());
  switch (machine.form) {
    case ScotchMachine::Form::complete:
      return check(scotch.call("SCOTCH_archCmplt", arch.get(), sizes[0]), "describe the nodes");
    case ScotchMachine::Form::tree:
      return check(scotch.call("SCOTCH_archTleaf", arch.get(), count, sizes.data(), weights.data()),
                   "describe the tree");
    case ScotchMachine::Form::torus:
      return check(scotch.call("SCOTCH_archTorusX", arch.get(), count, sizes.data()), "describe the torus");
  }
}

template <class Number>
std::vector<int> map_with(const ScotchGraph& graph, const ScotchMachine& machine, std::uint64_t seed) {
  constexpr Number quality = 1;
  const Library& scotch = Library::instance();
  const auto first = converted<Number>(graph.first);
  const auto to = converted<Number>(graph.to);
  const auto weight = converted<Number>(graph.weight);
  const auto ranks = static_cast<Number>(first.size() - 1);
  std::vector<Number> parts(static_cast<std::size_t>(ranks));
  scotch.call("SCOTCH_randomSeed", static_cast<Number>(seed & 0x7fffffff));
  scotch.call("SCOTCH_randomReset");
  Object arch("SCOTCH_archInit", "SCOTCH_archExit");
  build_machine<Number>(arch, machine);
  Object strategy("SCOTCH_stratInit", "SCOTCH_stratExit");
  Number terminals = 1;
  for (const std::int64_t s : machine.sizes) terminals *= static_cast<Number>(s);
  check(scotch.call("SCOTCH_stratGraphMapBuild", strategy.get(), quality, terminals, 0.0), "choose a strategy");
  Object g("SCOTCH_graphInit", "SCOTCH_graphExit");
  const Number* none = nullptr;
  check(scotch.call("SCOTCH_graphBuild", g.get(), Number{0}, ranks, first.data(), first.data() + 1, none, none,
                    static_cast<Number>(to.size()), to.data(), weight.data()),
        "read the traffic");
  check(scotch.call("SCOTCH_graphMap", g.get(), arch.get(), strategy.get(), parts.data()), "map");
  return {parts.begin(), parts.end()};
}

}  // namespace

std::string scotch_missing() { return Library::instance().missing(); }

std::vector<int> scotch_map(const ScotchGraph& graph, const ScotchMachine& machine, std::uint64_t seed) {
  if (!Library::instance().usable()) throw Error(scotch_missing());
  return Library::instance().number_bytes() == 4 ? map_with<std::int32_t>(graph, machine, seed)
                                                 : map_with<std::int64_t>(graph, machine, seed);
}

}  // namespace antiphon::mapping
