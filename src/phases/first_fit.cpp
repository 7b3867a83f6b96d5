// SPDX-License-Identifier: Apache-2.0
#include "phases/first_fit.hpp"

#include <bit>

namespace antiphon {

FirstFit::FirstFit(const Pattern& pattern, const Fabric& fabric, bool uplinks)
    : ports_(fabric, pattern.size), size_(pattern.size), uplinks_(uplinks),
      out_(static_cast<std::size_t>(ports_.nodes())), in_(out_.size()),
      up_(static_cast<std::size_t>(ports_.switches())), down_(up_.size()), up_count_(up_.size()),
      down_count_(up_.size()) {}

std::size_t FirstFit::first_free(const Ports::Use& use) const {
  const Bits& out = out_[static_cast<std::size_t>(use.out)];
  const Bits& in = in_[static_cast<std::size_t>(use.in)];
  for (std::size_t i = 0;; ++i) {
    std::uint64_t taken = word(out, i) | word(in, i);
    if (use.up >= 0)
      taken |= word(up_[static_cast<std::size_t>(use.up)], i) | word(down_[static_cast<std::size_t>(use.down)], i);
    if (~taken != 0) return i * 64 + static_cast<std::size_t>(std::countr_one(taken));
  }
}

void FirstFit::take(const Ports::Use& use, std::size_t phase) {
  const auto set = [phase](Bits& bits) {
    if (bits.size() <= phase / 64) bits.resize(phase / 64 + 1);
    bits[phase / 64] |= std::uint64_t{1} << (phase % 64);
  };
  set(out_[static_cast<std::size_t>(use.out)]);
  set(in_[static_cast<std::size_t>(use.in)]);
  if (use.up < 0) return;
  const auto count = [&](std::vector<int>& counts, Bits& full) {
    if (counts.size() <= phase) counts.resize(phase + 1);
    if (++counts[phase] == ports_.uplink_messages()) set(full);
  };
  count(up_count_[static_cast<std::size_t>(use.up)], up_[static_cast<std::size_t>(use.up)]);
  count(down_count_[static_cast<std::size_t>(use.down)], down_[static_cast<std::size_t>(use.down)]);
}

bool FirstFit::place(const PatternMessage& m, std::size_t limit) {
  Ports::Use use = ports_.of(m.from, m.to);
  if (!uplinks_) use.up = use.down = -1;
  if (use.out < 0) {
    local_.push_back(m);
    return true;
  }
  const std::size_t phase = first_free(use);
  if (phase >= limit) return false;
  if (phases_.size() <= phase) phases_.resize(phase + 1);
  take(use, phase);
  phases_[phase].parts.push_back({m.from, m.to, 0, m.bytes});
  return true;
}

Phases FirstFit::finish(std::string scheduler, const std::vector<PatternMessage>& left) {
  Phases result{size_, std::move(scheduler), std::move(phases_)};
  if (left.empty() && local_.empty()) return result;
  PhaseOfParts& last = result.phases.emplace_back();
  last.together = true;
  for (const PatternMessage& m : local_) last.parts.push_back({m.from, m.to, 0, m.bytes});
  for (const PatternMessage& m : left) last.parts.push_back({m.from, m.to, 0, m.bytes});
  return result;
}

}  // namespace antiphon
