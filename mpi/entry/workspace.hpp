// SPDX-License-Identifier: Apache-2.0
// A call's schedule works on this memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "antiphon/problem.hpp"
#include "call/description.hpp"
#include "entry/arena.hpp"
#include "run/runner.hpp"

namespace antiphon::mpi {

/// Holds memory of calls that run one after the other: packed data of either side, and schedules' scratch.
struct Staging {
  Arena input, output, scratch;

  /// Leaves the memory to messages that are still under way after an error.
  void let_go() { static_cast<void>(new Staging(std::exchange(*this, {}))); }
  /// Gives back what is large once a call is over: a program's memory may be as large as its node's.
  void call_over();
};

/// Says where one call's schedule finds its data. prepare() packs what is not plain bytes, and finish() unpacks it.
/// Both return MPI error codes.
class Workspace {
 public:
  /// All three arguments must outlive the workspace.
  Workspace(const Description& d, const Problem& problem, Staging& staging);
  int prepare(std::int64_t scratch_bytes);
  int finish();
  [[nodiscard]] const Binding& binding() const { return binding_; }

 private:
  int prepare_reduction(std::int64_t scratch_bytes);
  int place_input();
  int place_output();
  int pack_block(const Side& side, int block, std::byte* to) const;

  const Description& d_;
  const Problem& problem_;
  Staging& staging_;
  Binding binding_;
  bool unpack_ = false;
};

}  // namespace antiphon::mpi
