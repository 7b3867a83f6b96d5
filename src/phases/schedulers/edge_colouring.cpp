// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <numeric>

#include "phases/ports.hpp"

namespace antiphon::scheduler_edge_colouring {

namespace {

constexpr int none = -1;

/// Colours the edges of a bipartite multigraph (senders, receivers) one by one, with as few colours as the largest
/// degree where all edges are of one class, by König's theorem: where the free colours of both ends differ, two colours
/// change places along a path. An edge of a class keeps to the colours that its class was allowed; where a path would
/// take it beyond, the new edge gets a colour of its own instead.
class Colouring {
 public:
  Colouring(int nodes, int degree)
      : colours_(2 * degree), words_((static_cast<std::size_t>(colours_) + 63) / 64),
        edge_(static_cast<std::size_t>(2 * nodes) * static_cast<std::size_t>(colours_), none),
        free_(static_cast<std::size_t>(2 * nodes) * words_, ~std::uint64_t{0}), nodes_(nodes) {}

  /// Lets edges added from here on use this many colours, if that is more than before. It must be at least the largest
  /// degree that these edges lead to.
  void allow(int limit) { limit_ = std::max(limit_, limit); }
  /// Colours one more edge.
  void add(int from, int to) {
    const int out = from;
    const int in = nodes_ + to;
    const auto id = static_cast<int>(ends_.size());
    ends_.push_back({out, in});
    colour_.push_back(none);
    allowed_.push_back(limit_);
    int colour = first_common(out, in);
    if (colour == none) colour = freed(in, first_free(out), first_free(in));
    if (colour == none) colour = freed(out, first_free(in), first_free(out));
    // It is never more than twice the degree, since two ends have at most that many colours.
    if (colour == none) colour = limit_++;
    set(id, colour);
  }

  [[nodiscard]] const std::vector<int>& colours() const { return colour_; }

 private:
  struct Ends {
    int out, in;
  };
  [[nodiscard]] std::uint64_t word(int node, std::size_t w) const {
    return free_[static_cast<std::size_t>(node) * words_ + w];
  }
  int& edge(int node, int colour) {
    return edge_[static_cast<std::size_t>(node) * static_cast<std::size_t>(colours_) +
                 static_cast<std::size_t>(colour)];
  }
  void mark(int node, int colour, bool is_free) {
    std::uint64_t& bits = free_[static_cast<std::size_t>(node) * words_ + static_cast<std::size_t>(colour) / 64];
    const std::uint64_t bit = std::uint64_t{1} << (colour % 64);
    bits = is_free ? bits | bit : bits & ~bit;
  }
  [[nodiscard]] int first_common(int a, int b) const {
    for (std::size_t w = 0; w < words_; ++w) {
      const std::uint64_t common = word(a, w) & word(b, w);
      if (common == 0) continue;
      const int colour = static_cast<int>(w * 64) + std::countr_zero(common);
      return colour < limit_ ? colour : none;
    }
    return none;
  }
  [[nodiscard]] int first_free(int node) const { return first_common(node, node); }

  void set(int id, int colour) {
    colour_[static_cast<std::size_t>(id)] = colour;
    const Ends& ends = ends_[static_cast<std::size_t>(id)];
    for (const int node : {ends.out, ends.in}) {
      edge(node, colour) = id;
      mark(node, colour, false);
    }
  }

  /// Frees `wanted` at a node that has `spare` free, by exchanging both along the path of these colours that begins
  /// there. Returns it, or none where that would take an edge beyond its class's colours.
  int freed(int node, int wanted, int spare) {
    path_.clear();
    const int larger = std::max(wanted, spare);
    for (int at = node, colour = wanted; edge(at, colour) != none; colour = colour == wanted ? spare : wanted) {
      const int id = edge(at, colour);
      if (allowed_[static_cast<std::size_t>(id)] <= larger) return none;
      path_.push_back(id);
      const Ends& ends = ends_[static_cast<std::size_t>(id)];
      at = at == ends.out ? ends.in : ends.out;
    }
    for (const int id : path_) {
      const Ends& ends = ends_[static_cast<std::size_t>(id)];
      for (const int end : {ends.out, ends.in}) {
        edge(end, colour_[static_cast<std::size_t>(id)]) = none;
        mark(end, colour_[static_cast<std::size_t>(id)], true);
      }
    }
    for (const int id : path_) set(id, colour_[static_cast<std::size_t>(id)] == wanted ? spare : wanted);
    return wanted;
  }

  int colours_;
  int limit_ = 0;
  std::size_t words_;
  std::vector<int> edge_;            ///< [node · colours + colour]
  std::vector<std::uint64_t> free_;  ///< bit sets of free colours by node
  int nodes_;
  std::vector<Ends> ends_;
  std::vector<int> colour_;
  std::vector<int> allowed_;  ///< by edge: how many colours its class may use
  std::vector<int> path_;
};

/// The most messages into or out of one node, counted as they come.
class Degrees {
 public:
  explicit Degrees(const Ports& ports)
      : ports_(ports), out_(static_cast<std::size_t>(ports.nodes())), in_(out_.size()) {}
  int add(const PatternMessage& m) {
    const Ports::Use use = ports_.of(m.from, m.to);
    return most_ =
               std::max({most_, ++out_[static_cast<std::size_t>(use.out)], ++in_[static_cast<std::size_t>(use.in)]});
  }
  [[nodiscard]] int most() const { return most_; }

 private:
  const Ports& ports_;
  std::vector<int> out_, in_;
  int most_ = 0;
};

/// Colours messages, which are sorted by falling size, class by class: sizes within a factor of 1.5 are one class, and
/// a class may use only as many colours as it and all larger messages need. So long messages get as few phases as
/// possible.
std::vector<int> coloured(const Ports& ports, const std::vector<PatternMessage>& messages) {
  Degrees all(ports);
  for (const PatternMessage& m : messages) all.add(m);
  Colouring colouring(ports.nodes(), all.most());
  Degrees so_far(ports);
  for (std::size_t begin = 0; begin < messages.size();) {
    std::size_t end = begin;
    while (end < messages.size() && 3 * messages[end].bytes >= 2 * messages[begin].bytes) so_far.add(messages[end++]);
    colouring.allow(so_far.most());
    for (; begin < end; ++begin) {
      const Ports::Use use = ports.of(messages[begin].from, messages[begin].to);
      colouring.add(use.out, use.in);
    }
  }
  return colouring.colours();
}

/// Like largest_first, but within a class of messages in the order of all-to-all phases, where hardly any colours have
/// to change places: for patterns of very many messages.
void sort_many(std::vector<PatternMessage>& messages, int size) {
  const auto distance = [size](const PatternMessage& m) { return (m.to - m.from + size) % size; };
  std::stable_sort(messages.begin(), messages.end(), [&](const auto& a, const auto& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : distance(a) < distance(b);
  });
}

/// Makes as few phases with long messages as one node has long messages at most. Where all are of about one size, no
/// schedule has fewer phases. Good where messages are of a few sizes, and where a barrier between phases is expensive.
/// O(messages · ranks) at worst.
Phases build(const Pattern& pattern, const Fabric& fabric, std::int64_t small_bytes) {
  const Ports ports(fabric, pattern.size);
  std::vector<PatternMessage> messages;
  PhaseOfParts small = split_off_small(pattern, ports, small_bytes, messages);
  sort_many(messages, pattern.size);
  const std::vector<int> colours = coloured(ports, messages);
  const int count = colours.empty() ? 0 : *std::max_element(colours.begin(), colours.end()) + 1;
  std::vector<PhaseOfParts> phases(static_cast<std::size_t>(count));
  std::vector<std::int64_t> longest(phases.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto phase = static_cast<std::size_t>(colours[i]);
    phases[phase].parts.push_back({messages[i].from, messages[i].to, 0, messages[i].bytes});
    longest[phase] = std::max(longest[phase], messages[i].bytes);
  }
  std::vector<std::size_t> order(phases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return longest[a] > longest[b]; });
  Phases result{pattern.size, "edge_colouring", {}};
  if (!small.parts.empty()) result.phases.push_back(std::move(small));
  for (const std::size_t i : order) result.phases.push_back(std::move(phases[i]));
  return result;
}

}  // namespace

extern const Scheduler scheduler{
    .name = "edge_colouring",
    .summary = "as few phases as possible, long messages first: even phases",
    .build = build,
};

}  // namespace antiphon::scheduler_edge_colouring
