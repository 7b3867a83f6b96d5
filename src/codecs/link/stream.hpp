// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "codecs/codec.hpp"
#include "codecs/link/window.hpp"
#include "codecs/plan/search.hpp"

namespace antiphon::codec {

/// How far back in its own channel a message's references lie; the latest first, 0 where there is none.
using Steps = std::array<std::uint16_t, max_references>;

/// What the sending end knows about one channel: its plan, what came of it, and where its earlier messages are.
class Stream {
 public:
  static constexpr std::size_t max_steps = 160;  ///< messages back that may serve as reference

  /// Whether this message, the next one, must be planned anew.
  bool needs_plan() const { return count_ >= next_plan_; }
  void make_plan(ConstBytes raw, const Options& options, const Window& window, const Kernel& kernel, Work& work);
  /// Whether the receiver shall keep this message.
  bool keeps(std::size_t history_bytes, std::size_t message_bytes) const;
  const Plan& plan() const { return plan_; }
  /// The plan's references in `window`; false where one is gone.
  bool references(const Window& window, std::uint64_t next_number, Past& past) const;
  /// The plan for a message whose references are gone.
  const Plan& plan_without_past() const { return spatial_; }
  void sent(const Frame& frame, std::size_t raw_bytes, bool kept, std::uint64_t number);

 private:
  Foresight foresight(const Window& window, Extrapolation extrapolation, const Steps& steps) const;
  const Window::Kept* back(const Window& window, std::size_t step) const;
  void consider_past(ConstBytes raw, const Options& options, const Window& window, const Kernel& kernel, Work& work,
                     double& best_s);
  std::vector<std::uint16_t> similar(ConstBytes raw, const Window& window, const Kernel& kernel, Work& work) const;

  Plan plan_;
  Plan spatial_;  ///< the best that needs no earlier message
  Steps steps_{};
  std::uint64_t count_ = 0;
  std::uint64_t next_plan_ = 0;
  double planned_share_ = 0;  ///< frame bytes per raw byte when the plan was made
  int worse_ = 0;
  std::vector<std::uint64_t> numbers_;  ///< of the channel's kept messages; a ring of max_steps
  std::uint64_t kept_ = 0;
};

}  // namespace antiphon::codec
