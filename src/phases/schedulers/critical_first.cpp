// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <queue>

#include "antiphon/index.hpp"
#include "phases/ports.hpp"

namespace antiphon::schedulers_in {

namespace {

constexpr std::size_t most_messages = 70'000;

bool worth(const Pattern& pattern, const Fabric&) { return pattern.messages.size() <= most_messages; }

/// All links of a fabric in one list, with what each still has to carry.
class Links {
 public:
  Links(const Ports& ports, const std::vector<PatternMessage>& messages)
      : nodes_(ports.nodes()), switches_(ports.switches()), left_s_(static_cast<std::size_t>(2 * (nodes_ + switches_))),
        free_(left_s_.size(), 1) {
    for (std::size_t i = static_cast<std::size_t>(2 * nodes_); i < free_.size(); ++i)
      free_[i] = ports.uplink_messages();
    for (const PatternMessage& m : messages) {
      of_.push_back(links_of(ports.of(m.from, m.to)));
      for (std::size_t k = 0; k < of_.back().size(); ++k) {
        if (of_.back()[k] < 0) continue;
        left_s_[at(of_.back()[k])] += seconds(ports, m, k);
      }
    }
  }

  [[nodiscard]] bool free(std::size_t message) const {
    return std::all_of(of_[message].begin(), of_[message].end(),
                       [this](int link) { return link < 0 || free_[at(link)] > 0; });
  }
  void take(std::size_t message) {
    for (const int link : of_[message]) {
      if (link >= 0) --free_[at(link)];
    }
  }
  void give_back(std::size_t message) {
    for (const int link : of_[message]) {
      if (link >= 0) ++free_[at(link)];
    }
  }
  void carried(const Ports& ports, const PatternMessage& m, std::size_t message) {
    for (std::size_t k = 0; k < of_[message].size(); ++k) {
      if (of_[message][k] >= 0) left_s_[at(of_[message][k])] -= seconds(ports, m, k);
    }
  }
  /// How long the busiest of a message's links will still be busy.
  [[nodiscard]] double urgency(std::size_t message) const {
    double most = 0;
    for (const int link : of_[message]) {
      if (link >= 0) most = std::max(most, left_s_[at(link)]);
    }
    return most;
  }
  [[nodiscard]] const std::array<int, 4>& of(std::size_t message) const { return of_[message]; }
  [[nodiscard]] std::size_t count() const { return free_.size(); }

 private:
  [[nodiscard]] static double seconds(const Ports& ports, const PatternMessage& m, std::size_t k) {
    return static_cast<double>(m.bytes) * (k < 2 ? ports.seconds_per_byte() : ports.uplink_seconds_per_byte());
  }
  [[nodiscard]] std::array<int, 4> links_of(const Ports::Use& use) const {
    return {use.out, use.in < 0 ? -1 : nodes_ + use.in, use.up < 0 ? -1 : 2 * nodes_ + use.up,
            use.down < 0 ? -1 : 2 * nodes_ + switches_ + use.down};
  }

  int nodes_, switches_;
  std::vector<double> left_s_;
  std::vector<int> free_;  ///< messages that still find room
  std::vector<std::array<int, 4>> of_;
};

/// The messages in the order in which they begin on an ideal network where each, as soon as its links are free, begins
/// before those that are less urgent.
std::vector<std::size_t> order_of(const Ports& ports, const std::vector<PatternMessage>& messages) {
  Links links(ports, messages);
  std::vector<std::size_t> waiting(messages.size()), order;
  for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
  using Event = std::pair<double, std::size_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> running;
  std::vector<std::vector<std::size_t>> of_link(links.count());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const int link : links.of(i)) {
      if (link >= 0) of_link[static_cast<std::size_t>(link)].push_back(i);
    }
  }
  std::vector<bool> begun(messages.size());
  std::vector<std::size_t> candidates(waiting);
  double now = 0;
  while (order.size() < messages.size()) {
    while (true) {
      std::size_t best = messages.size();
      double most = -1;
      for (const std::size_t i : candidates) {
        if (begun[i] || !links.free(i)) continue;
        const double urgency = links.urgency(i);
        if (urgency > most || (urgency == most && messages[i].bytes > messages[best].bytes)) {
          most = urgency;
          best = i;
        }
      }
      if (best == messages.size()) break;
      begun[best] = true;
      links.take(best);
      order.push_back(best);
      running.emplace(now + static_cast<double>(messages[best].bytes) * ports.seconds_per_byte(), best);
    }
    // All that end now: candidates are what waits for their links.
    candidates.clear();
    if (running.empty()) break;
    now = running.top().first;
    while (!running.empty() && running.top().first <= now) {
      const std::size_t ended = running.top().second;
      running.pop();
      links.give_back(ended);
      links.carried(ports, messages[ended], ended);
      for (const int link : links.of(ended)) {
        if (link < 0) continue;
        auto& of_this = of_link[static_cast<std::size_t>(link)];
        std::erase_if(of_this, [&](std::size_t i) { return begun[i]; });
        candidates.insert(candidates.end(), of_this.begin(), of_this.end());
      }
    }
  }
  return order;
}

/// Open-shop list scheduling: whenever links come free, the message begins next whose busiest link has the most left to
/// carry. Nothing says that phases end together: what counts is the order at each port, which tokens and grants keep. A
/// phase is then how deep in these orders a message lies. Within a few per cent of the lower bound where messages are
/// many and none dominates. O(messages · ranks).
Phases build(const Pattern& pattern, const Fabric& fabric, std::int64_t small_bytes) {
  const Ports ports(fabric, pattern.size);
  std::vector<PatternMessage> messages;
  PhaseOfParts small = split_off_small(pattern, ports, small_bytes, messages);
  Phases result{pattern.size, "critical_first", {}};
  std::vector<std::size_t> out(static_cast<std::size_t>(ports.nodes())), in(out.size());
  for (const std::size_t i : order_of(ports, messages)) {
    const PatternMessage& m = messages[i];
    const Ports::Use use = ports.of(m.from, m.to);
    std::size_t& from = out[static_cast<std::size_t>(use.out)];
    std::size_t& to = in[static_cast<std::size_t>(use.in)];
    const std::size_t phase = std::max(from, to);
    from = to = phase + 1;
    if (result.phases.size() <= phase) result.phases.resize(phase + 1);
    result.phases[phase].parts.push_back({m.from, m.to, 0, m.bytes});
  }
  if (!small.parts.empty()) result.phases.insert(result.phases.begin(), std::move(small));
  return result;
}

}  // namespace

extern const Scheduler critical_first{"critical_first", "whenever links come free, the message of the most loaded link",
                                      worth, build};

}  // namespace antiphon::schedulers_in
