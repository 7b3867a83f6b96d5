// SPDX-License-Identifier: Apache-2.0
#include "phases/ports.hpp"

namespace antiphon::scheduler_all_to_all {

namespace {

/// A phase that is being filled, with the links that are taken.
class Filling {
 public:
  explicit Filling(const Ports& ports)
      : ports_(ports), out_(static_cast<std::size_t>(ports.nodes())), in_(out_.size()), free_(ports.nodes()) {}

  /// False if a link that the message needs is taken.
  bool add(const PatternMessage& m) {
    const Ports::Use use = ports_.of(m.from, m.to);
    if (out_[static_cast<std::size_t>(use.out)] || in_[static_cast<std::size_t>(use.in)]) return false;
    out_[static_cast<std::size_t>(use.out)] = in_[static_cast<std::size_t>(use.in)] = true;
    --free_;
    phase.parts.push_back({m.from, m.to, 0, m.bytes});
    return true;
  }
  /// Whether there are as many parts as nodes, so that nothing more fits.
  [[nodiscard]] bool full() const { return free_ == 0; }

  PhaseOfParts phase;

 private:
  const Ports& ports_;
  std::vector<bool> out_, in_;
  int free_;
};

/// The messages that are still to be scheduled, by falling size, and by all-to-all phase.
class Unscheduled {
 public:
  Unscheduled(std::vector<PatternMessage> sorted, int size)
      : messages_(std::move(sorted)), next_(messages_.size() + 1), gone_(messages_.size()),
        of_phase_(static_cast<std::size_t>(size)), size_(size) {
    for (std::size_t i = 0; i < next_.size(); ++i) next_[i] = i + 1;
    for (std::size_t i = 0; i < messages_.size(); ++i) of_phase_[phase_of(messages_[i])].push_back(i);
  }

  [[nodiscard]] const PatternMessage* largest() {
    while (first_ < messages_.size() && gone_[first_]) ++first_;
    return first_ == messages_.size() ? nullptr : &messages_[first_];
  }
  /// Fills with what is left of the all-to-all phase of the largest message, then with what else fits.
  void fill(Filling& filling) {
    for (const std::size_t i : of_phase_[phase_of(*largest())]) {
      if (!gone_[i] && filling.add(messages_[i])) gone_[i] = true;
    }
    std::size_t before = first_;
    for (std::size_t i = first_; i < messages_.size() && !filling.full(); i = next_[i]) {
      if (!gone_[i] && filling.add(messages_[i])) gone_[i] = true;
      if (gone_[i]) next_[before] = next_[i];
      else before = i;
    }
  }
  template <typename Take>
  void for_each(Take take) const {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (!gone_[i]) take(messages_[i]);
    }
  }

 private:
  [[nodiscard]] std::size_t phase_of(const PatternMessage& m) const {
    return static_cast<std::size_t>((m.to - m.from + size_) % size_);
  }

  std::vector<PatternMessage> messages_;
  std::vector<std::size_t> next_;  ///< by message: the next one, past those that are gone
  std::vector<bool> gone_;
  std::vector<std::vector<std::size_t>> of_phase_;
  int size_;
  std::size_t first_ = 0;
};

/// Paper 1, Figure 4: each phase begins with those messages of the all-to-all phase {j → j + i} of the largest message
/// that are still to be scheduled, and is filled by size as in greedy. At most size − 1 phases (with one rank per
/// node); good for a pattern that is nearly an all-to-all. The threshold, as in greedy, ends it with one phase of small
/// messages.
///
/// It ignores uplinks. O(messages · phases) at worst, O(messages) for a dense pattern, since that fills each phase at
/// once.
Phases build(const Pattern& pattern, const Fabric& fabric, std::int64_t small_bytes) {
  const Ports ports(fabric, pattern.size);
  Phases result{pattern.size, "all_to_all", {}};
  PhaseOfParts last{{}, true};
  const auto add_to_last = [&last](const PatternMessage& m) { last.parts.push_back({m.from, m.to, 0, m.bytes}); };
  std::vector<PatternMessage> sorted;
  for (const PatternMessage& m : largest_first(pattern)) {
    if (ports.local(m.from, m.to)) add_to_last(m);
    else sorted.push_back(m);
  }
  Unscheduled unscheduled(std::move(sorted), pattern.size);
  while (const PatternMessage* largest = unscheduled.largest()) {
    if (largest->bytes < small_bytes) break;
    Filling filling(ports);
    unscheduled.fill(filling);
    result.phases.push_back(std::move(filling.phase));
  }
  unscheduled.for_each(add_to_last);
  if (!last.parts.empty()) result.phases.push_back(std::move(last));
  return result;
}

}  // namespace

extern const Scheduler scheduler{
    .name = "all_to_all",
    .summary = "by the phases of an all-to-all, then largest first (paper 1)",
    .build = build,
};

}  // namespace antiphon::scheduler_all_to_all
