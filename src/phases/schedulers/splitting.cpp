// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "antiphon/index.hpp"
#include "phases/ports.hpp"

namespace antiphon::scheduler_splitting {

namespace {

constexpr std::size_t most_messages = 5'000;
constexpr std::int64_t quantum_bytes = 4096;
constexpr int none = -1;

bool worth(const Pattern& pattern, const Fabric&) { return pattern.messages.size() <= most_messages; }

/// What is left to send between nodes, in quanta, and a matching of senders with receivers that is kept from phase to
/// phase.
class Remaining {
 public:
  explicit Remaining(const Ports& ports, const std::vector<PatternMessage>& messages)
      : nodes_(ports.nodes()), load_(static_cast<std::size_t>(2 * nodes_)), partner_(load_.size(), none),
        chosen_(load_.size(), 0), edges_(load_.size()) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const Ports::Use use = ports.of(messages[i].from, messages[i].to);
      const std::int64_t quanta = (messages[i].bytes + quantum_bytes - 1) / quantum_bytes;
      quanta_.push_back(quanta);
      ends_.push_back({use.out, nodes_ + use.in});
      for (const int end : ends_.back()) {
        load_[at(end)] += quanta;
        edges_[at(end)].push_back(i);
      }
    }
    // The largest come first, since a long message keeps its match for long.
    for (auto& edges : edges_) {
      std::stable_sort(edges.begin(), edges.end(),
                       [this](std::size_t a, std::size_t b) { return quanta_[a] > quanta_[b]; });
    }
  }

  [[nodiscard]] std::int64_t most() const { return *std::max_element(load_.begin(), load_.end()); }

  /// Completes the matching, the most loaded nodes first: a node that is matched stays so, hence all that have no time
  /// to lose take part.
  void match() {
    std::vector<int> order(load_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [this](int a, int b) { return load_[at(a)] > load_[at(b)]; });
    for (const int node : order) {
      if (load_[at(node)] == 0 || partner_[at(node)] != none) continue;
      seen_.assign(load_.size(), false);
      augment(node, load_[at(node)]);
    }
  }

  /// How many quanta the matching can go on until one of its messages ends or an unmatched node runs out of slack.
  [[nodiscard]] std::int64_t duration() const {
    std::int64_t least = most();
    for (std::size_t node = 0; node < load_.size(); ++node) {
      if (partner_[node] == none) least = std::min(least, most() - load_[node]);
      else least = std::min(least, quanta_[chosen_[node]]);
    }
    return std::max<std::int64_t>(least, 1);
  }

  /// Calls take(message, quanta) for each matched message and drops those that are complete.
  template <typename Take>
  void advance(std::int64_t duration, Take take) {
    for (int out = 0; out < nodes_; ++out) {
      const int in = partner_[at(out)];
      if (in == none) continue;
      const std::size_t message = chosen_[at(out)];
      const std::int64_t quanta = std::min(duration, quanta_[message]);
      take(message, quanta);
      quanta_[message] -= quanta;
      for (const int end : {out, in}) load_[at(end)] -= quanta;
      if (quanta_[message] == 0) partner_[at(out)] = partner_[at(in)] = none;
    }
  }

 private:
  void join(std::size_t message) {
    const auto [a, b] = ends_[message];
    partner_[at(a)] = b;
    partner_[at(b)] = a;
    chosen_[at(a)] = chosen_[at(b)] = message;
  }

  /// Matches `node` by an alternating path that ends at a free node of the other side, or takes the place of a node of
  /// its own side with a smaller load.
  bool augment(int node, std::int64_t load) {
    for (const std::size_t message : edges_[at(node)]) {
      if (quanta_[message] == 0) continue;
      const auto [a, b] = ends_[message];
      const int other = a == node ? b : a;
      if (seen_[at(other)]) continue;
      seen_[at(other)] = true;
      const int rival = partner_[at(other)];
      if (rival == none || augment(rival, load)) {
        join(message);
        return true;
      }
      if (load_[at(rival)] < load) {
        partner_[at(rival)] = none;
        join(message);
        return true;
      }
    }
    return false;
  }

  struct Ends {
    int out, in;
    [[nodiscard]] const int* begin() const { return &out; }
    [[nodiscard]] const int* end() const { return &in + 1; }
  };

  int nodes_;
  std::vector<std::int64_t> load_;
  std::vector<int> partner_;
  std::vector<std::size_t> chosen_;
  std::vector<std::vector<std::size_t>> edges_;
  std::vector<std::int64_t> quanta_;
  std::vector<Ends> ends_;
  std::vector<bool> seen_;
};

/// Collects parts by phase. A part of the message that both its ports sent last makes that part longer instead.
class Collected {
 public:
  Collected(const Ports& ports, Phases& result)
      : ports_(ports), result_(result), out_(static_cast<std::size_t>(ports.nodes())), in_(out_.size()) {}

  void add(const PatternMessage& m, std::int64_t offset, std::int64_t bytes, std::size_t phase) {
    const Ports::Use use = ports_.of(m.from, m.to);
    Place& out = out_[static_cast<std::size_t>(use.out)];
    Place& in = in_[static_cast<std::size_t>(use.in)];
    if (out.part != Place{}.part && out.phase == in.phase && out.part == in.part) {
      Part& last = result_.phases[out.phase].parts[out.part];
      if (last.from == m.from && last.to == m.to) {
        last.bytes += bytes;
        return;
      }
    }
    if (result_.phases.size() <= phase) result_.phases.resize(phase + 1);
    out = in = {phase, result_.phases[phase].parts.size()};
    result_.phases[phase].parts.push_back({m.from, m.to, offset, bytes});
  }

 private:
  struct Place {
    std::size_t phase = 0;
    std::size_t part = SIZE_MAX;
  };
  const Ports& ports_;
  Phases& result_;
  std::vector<Place> out_, in_;
};

/// Preemptive open shop (Gonzalez and Sahni 1976; the decomposition of Birkhoff and von Neumann): messages are split so
/// that the phases' lengths add up to the lower bound, the most bytes into or out of one node. Each phase matches
/// senders with receivers such that every node without time to lose takes part, and goes on until one of its messages
/// ends or another node runs out of slack; what goes on over several phases is one part. At most messages + 2 · nodes
/// phases.
Phases build(const Pattern& pattern, const Fabric& fabric, std::int64_t small_bytes) {
  const Ports ports(fabric, pattern.size);
  std::vector<PatternMessage> messages;
  PhaseOfParts small = split_off_small(pattern, ports, small_bytes, messages);
  Phases result{pattern.size, "splitting", {}};
  if (!small.parts.empty()) result.phases.push_back(std::move(small));
  Remaining remaining(ports, messages);
  Collected collected(ports, result);
  std::vector<std::int64_t> sent(messages.size());
  for (std::size_t phase = result.phases.size(); !messages.empty() && remaining.most() > 0; ++phase) {
    remaining.match();
    remaining.advance(remaining.duration(), [&](std::size_t i, std::int64_t quanta) {
      const std::int64_t bytes = std::min(quanta * quantum_bytes, messages[i].bytes - sent[i]);
      collected.add(messages[i], sent[i], bytes, phase);
      sent[i] += bytes;
    });
  }
  std::erase_if(result.phases, [](const PhaseOfParts& phase) { return phase.parts.empty(); });
  return result;
}

}  // namespace

extern const Scheduler scheduler{
    .name = "splitting",
    .summary = "splits messages so that phases add up to the lower bound",
    .worth = worth,
    .build = build,
};

}  // namespace antiphon::scheduler_splitting
