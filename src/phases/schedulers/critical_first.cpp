// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <queue>

#include "antiphon/index.hpp"
#include "phases/ports.hpp"

namespace antiphon::scheduler_critical_first {

namespace {

constexpr std::size_t most_messages = 70'000;

bool worth(const Pattern& pattern, const Fabric&) { return pattern.messages.size() <= most_messages; }

/// All links of a fabric in one list, with what each still has to carry.
class Links {
 public:
  Links(const Ports& ports, const std::vector<PatternMessage>& messages)
      : nodes_(ports.nodes()), switches_(ports.switches()), left_s_(static_cast<std::size_t>(2 * (nodes_ + switches_))),
        free_(left_s_.size(), 1) {
    for (std::size_t i = 2 * static_cast<std::size_t>(nodes_); i < free_.size(); ++i)
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
  std::vector<int> free_;  ///< by link: how many more messages it can carry at the same time
  std::vector<std::array<int, 4>> of_;
};

/// An ideal network on which each message, as soon as its links are free, begins before those that are less urgent.
class IdealNetwork {
 public:
  IdealNetwork(const Ports& ports, const std::vector<PatternMessage>& messages)
      : ports_(ports), messages_(messages), links_(ports, messages), of_link_(links_.count()), begun_(messages.size()),
        candidates_(messages.size()) {
    std::iota(candidates_.begin(), candidates_.end(), std::size_t{0});
    for (std::size_t i = 0; i < messages.size(); ++i) {
      for (const int link : links_.of(i)) {
        if (link >= 0) of_link_[at(link)].push_back(i);
      }
    }
  }

  /// The messages in the order in which they begin.
  std::vector<std::size_t> run() {
    while (order_.size() < messages_.size()) {
      begin_candidates();
      if (running_.empty()) break;
      end_next();
    }
    return std::move(order_);
  }

 private:
  using Event = std::pair<double, std::size_t>;

  /// Begins what can begin, the most urgent first, of equally urgent ones the longest. Beginning changes no urgency and
  /// frees no link, so one pass is enough.
  void begin_candidates() {
    struct Waiting {
      double urgency;
      std::int64_t bytes;
      std::size_t message;
      bool operator<(const Waiting& other) const {
        return urgency != other.urgency ? urgency > other.urgency : bytes > other.bytes;
      }
    };
    std::vector<Waiting> waiting;
    for (const std::size_t i : candidates_) {
      if (links_.free(i)) waiting.push_back({links_.urgency(i), messages_[i].bytes, i});
    }
    candidates_.clear();
    std::stable_sort(waiting.begin(), waiting.end());
    for (const Waiting& next : waiting) {
      if (!begun_[next.message] && links_.free(next.message)) begin(next.message);
    }
  }

  void begin(std::size_t message) {
    begun_[message] = true;
    links_.take(message);
    order_.push_back(message);
    running_.emplace(now_s_ + static_cast<double>(messages_[message].bytes) * ports_.seconds_per_byte(), message);
  }

  /// Ends all messages that end next at the same time. What waits for their links are the candidates to begin.
  void end_next() {
    now_s_ = running_.top().first;
    while (!running_.empty() && running_.top().first <= now_s_) {
      const std::size_t ended = running_.top().second;
      running_.pop();
      links_.give_back(ended);
      links_.carried(ports_, messages_[ended], ended);
      for (const int link : links_.of(ended)) {
        if (link < 0) continue;
        auto& of_this = of_link_[at(link)];
        std::erase_if(of_this, [this](std::size_t i) { return begun_[i]; });
        candidates_.insert(candidates_.end(), of_this.begin(), of_this.end());
      }
    }
  }

  const Ports& ports_;
  const std::vector<PatternMessage>& messages_;
  Links links_;
  std::vector<std::vector<std::size_t>> of_link_;  ///< by link: its messages that have not begun
  std::vector<bool> begun_;
  std::vector<std::size_t> candidates_, order_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> running_;
  double now_s_ = 0;
};

/// Open-shop list scheduling: whenever links come free, the message begins next whose busiest link has the most left to
/// carry. Phases need not end together: what counts is the order at each port, which tokens and grants keep. A
/// message's phase is its depth in these orders. The result is within a few per cent of the lower bound where messages
/// are many and none dominates. O(messages · ranks).
Phases build(const Pattern& pattern, const Fabric& fabric, std::int64_t small_bytes) {
  const Ports ports(fabric, pattern.size);
  std::vector<PatternMessage> messages;
  PhaseOfParts small = split_off_small(pattern, ports, small_bytes, messages);
  Phases result{pattern.size, "critical_first", {}};
  std::vector<std::size_t> out(static_cast<std::size_t>(ports.nodes())), in(out.size());
  for (const std::size_t i : IdealNetwork(ports, messages).run()) {
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

extern const Scheduler scheduler{
    .name = "critical_first",
    .summary = "whenever links come free, the message of the most loaded link",
    .worth = worth,
    .build = build,
};

}  // namespace antiphon::scheduler_critical_first
