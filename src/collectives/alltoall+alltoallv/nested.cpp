// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/block_row.hpp"

namespace antiphon::alltoall_by_nested {

namespace {

constexpr std::array<std::string_view, 3> among_nodes{"bruck", "windowed", "rotated"};
constexpr int bruck = 0;

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 1, 0, 2, "among nodes: 0 bruck, 1 windowed, 2 rotated"},
    {"radix", Role::fanout, 4, 2, 16, "outer=0: blocks travel in digits of this base"},
    {"lanes", Role::leaders, 1, 1, 16, "leaders of a node, each of which exchanges the blocks for a part of the ranks"},
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a message; 0 sends whole messages"},
    {"window", Role::ahead, 8, 1, 1024, "pieces under way to one rank"},
};

/// A leader puts this many blocks in their places at most, one by one.
constexpr std::int64_t most_blocks = 1 << 16;

/// One place's part. A row is all blocks that one place sends by a lane, or gets, in the order of places.
class Nested {
 public:
  explicit Nested(const Problem& p)
      : p_(p), levels_(p, p.parameter("lanes")), s_(p), node_(levels_.own().places()), got_(s_, output_blocks(p)) {}

  Schedule build() {
    for (int lane = 0; lane < levels_.lanes(); ++lane) collect(lane);
    for (int lane = 0; lane < levels_.lanes(); ++lane) {
      if (levels_.leads(lane)) exchange(lane);
      deal(lane);
    }
    got_.spread(s_);
    return s_.take();
  }

 private:
  [[nodiscard]] std::int64_t bytes(const Run& from, const Run& to) const {
    if (!p_.all_counts) return std::int64_t{from.size()} * to.size() * p_.bytes;
    std::int64_t sum = 0;
    for (int sender = from.first; sender < from.last; ++sender) {
      for (int receiver = to.first; receiver < to.last; ++receiver) sum += p_.pair_bytes(sender, receiver);
    }
    return sum;
  }

  /// What a place sends by a lane.
  [[nodiscard]] std::int64_t sent_bytes(int place, int lane) const {
    std::int64_t sum = 0;
    for (int node = 0; node < levels_.nodes(); ++node) sum += bytes({place, place + 1}, levels_.lane(node, lane));
    return sum;
  }

  /// Brings what the ranks of this node send by a lane to its leader.
  void collect(int lane) {
    std::vector<Range> blocks;
    for (int node = 0; node < levels_.nodes(); ++node) {
      for (const int place : levels_.lane(node, lane).places()) blocks.push_back(p_.input_block(place));
    }
    const Run all{0, static_cast<int>(blocks.size())};
    const BlockRow row(s_, std::move(blocks));
    row.collect(s_);
    std::vector<std::int64_t> sizes;
    for (const int place : node_) sizes.push_back(sent_bytes(place, lane));
    std::vector<Range> rows = blocks_of(sizes, levels_.leads(lane));
    if (levels_.leads(lane)) rows_ = rows;
    s_.within_node({.collective = Collective::gatherv,
                    .algorithm = "flat",
                    .members = node_,
                    .root = levels_.leader_index(lane),
                    .input = row.of(all),
                    .received = std::move(rows)});
  }

  /// Returns blocks of these sizes: in scratch memory, or just their lengths.
  [[nodiscard]] std::vector<Range> blocks_of(const std::vector<std::int64_t>& sizes, bool here) {
    Range rest{Space::scratch, 0, std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})};
    if (here) rest = s_.scratch(rest.bytes);
    std::vector<Range> list;
    for (const std::int64_t size : sizes) {
      list.push_back(rest.sub(0, size));
      rest = rest.sub(size, rest.bytes - size);
    }
    return list;
  }

  /// What goes from a node to another by a lane.
  [[nodiscard]] std::int64_t message_bytes(int from, int to, int lane) const {
    return bytes(levels_.node(from), levels_.lane(to, lane));
  }

  /// Lays out memory for one message to, or from, each node. Bruck's algorithm has blocks of one length.
  [[nodiscard]] std::vector<Range> messages(int lane, bool out) {
    const int own = levels_.own_node();
    std::vector<std::int64_t> sizes;
    for (int node = 0; node < levels_.nodes(); ++node)
      sizes.push_back(out ? message_bytes(own, node, lane) : message_bytes(node, own, lane));
    if (p_.parameter("outer") == bruck) std::fill(sizes.begin(), sizes.end(), longest_message(lane));
    return blocks_of(sizes, true);
  }

  [[nodiscard]] std::int64_t longest_message(int lane) const {
    std::int64_t longest = 0;
    for (int from = 0; from < levels_.nodes(); ++from) {
      for (int to = 0; to < levels_.nodes(); ++to) longest = std::max(longest, message_bytes(from, to, lane));
    }
    return longest;
  }

  /// The leader sorts blocks by node, exchanges them with the other leaders of its lane, and sorts them by receiver.
  void exchange(int lane) {
    const std::vector<Range> out = messages(lane, true);
    const std::vector<Range> in = messages(lane, false);
    pack(lane, out);
    const std::vector<int> leaders = levels_.leaders(lane);
    const auto whole = [](const std::vector<Range>& list) {
      return Range{Space::scratch, list.front().offset_bytes, std::ssize(list) * list.front().bytes};
    };
    const auto outer = static_cast<std::size_t>(p_.parameter("outer"));
    Stage stage{.collective = Collective::alltoallv, .algorithm = among_nodes.at(outer), .members = leaders};
    if (outer == bruck) {
      stage.collective = Collective::alltoall;
      stage.input = whole(out);
      stage.output = whole(in);
    } else {
      stage.sent = out;
      stage.received = in;
    }
    s_.between_nodes(stage);
    unpack(lane, in);
  }

  /// A message holds, for each sender in the one node, the blocks for the receivers in the other.
  void pack(int lane, const std::vector<Range>& out) {
    std::vector<std::int64_t> filled(out.size());
    for (int i = 0; i < levels_.own().size(); ++i) {
      std::vector<Composition::Copy> copies;
      std::int64_t taken = 0;
      for (int node = 0; node < levels_.nodes(); ++node) {
        const int sender = levels_.own().first + i;
        const std::int64_t part = bytes({sender, sender + 1}, levels_.lane(node, lane));
        copies.push_back({rows_[at(i)].sub(taken, part), out[at(node)].sub(filled[at(node)], part)});
        taken += part;
        filled[at(node)] += part;
      }
      s_.copy(copies);
    }
  }

  void unpack(int lane, const std::vector<Range>& in) {
    const Run to = levels_.lane(levels_.own_node(), lane);
    make_results(to);
    std::vector<std::int64_t> filled(at(to.size()));
    for (int node = 0; node < levels_.nodes(); ++node) {
      std::vector<Composition::Copy> copies;
      std::int64_t taken = 0;
      for (const int sender : levels_.node(node).places()) {
        for (int i = 0; i < to.size(); ++i) {
          const std::int64_t part = p_.pair_bytes(sender, to.first + i);
          copies.push_back({in[at(node)].sub(taken, part), results_[at(i)].sub(filled[at(i)], part)});
          taken += part;
          filled[at(i)] += part;
        }
      }
      s_.copy(copies);
    }
  }

  [[nodiscard]] Run everyone() const { return {0, p_.size}; }

  /// The rows that the ranks of this leader's lane get.
  void make_results(const Run& to) {
    std::vector<std::int64_t> sizes;
    for (const int place : to.places()) sizes.push_back(bytes(everyone(), {place, place + 1}));
    if (to.holds(p_.rank)) sizes[at(p_.rank - to.first)] = 0;
    results_ = blocks_of(sizes, true);
    if (to.holds(p_.rank)) results_[at(p_.rank - to.first)] = got_.of(everyone());
  }

  void deal(int lane) {
    const Run to = levels_.lane(levels_.own_node(), lane);
    const int leader = levels_.leader(levels_.own_node(), lane);
    const std::vector<int> members = to.places();
    std::vector<std::int64_t> sizes;
    for (const int place : members) sizes.push_back(bytes(everyone(), {place, place + 1}));
    std::vector<Range> rows = levels_.leads(lane) ? results_ : blocks_of(sizes, false);
    rows[at(leader - to.first)] = {};  // It is in its place.
    s_.within_node({.collective = Collective::scatterv,
                    .algorithm = "flat",
                    .members = members,
                    .root = leader - to.first,
                    .output = got_.of(everyone()),
                    .sent = std::move(rows)});
  }

  const Problem& p_;
  Levels levels_;
  Composition s_;
  std::vector<int> node_;
  BlockRow got_;                ///< what this rank gets
  std::vector<Range> rows_;     ///< a leader's: what the ranks of its node send by its lane
  std::vector<Range> results_;  ///< a leader's: what the ranks of its lane get
};

/// The ranks of a node bring their blocks to its leader, which exchanges them with the other leaders, those for one
/// node together, and deals out what has come in: two nodes have one connection instead of one for each two ranks, and
/// N−1 or log2 N messages leave a node instead of R (P−R). With several lanes each leader exchanges the blocks for a
/// part of the ranks. Cost (pLogP): that of the outer algorithm for N nodes with blocks of R² m, 2 ((R−1) g(P m) + L)
/// within a node, and P R copies of m by a leader. Good for short blocks and several ranks a node. For blocks of
/// unequal length every rank has all counts; Bruck's messages are then all as long as the longest.
Schedule build(const Problem& p) { return Nested(p).build(); }

bool supported(const Problem& p) {
  if (!has_levels(p)) return false;
  const std::int64_t most = *std::max_element(p.node_sizes.begin(), p.node_sizes.end());
  return most * p.size <= most_blocks * Levels(p, p.parameter("lanes")).lanes();
}

}  // namespace

extern const Algorithm alltoall{
    .collective = Collective::alltoall,
    .name = "nested",
    .summary = "blocks for one node travel together, among the nodes' leaders; short blocks, several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
    .levels = true,
};

extern const Algorithm alltoallv{
    .collective = Collective::alltoallv,
    .name = "nested",
    .summary = "blocks for one node travel together, among the nodes' leaders; short blocks, several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .knowledge = Knowledge::all_counts,
    .any_order = true,
    .levels = true,
};

}  // namespace antiphon::alltoall_by_nested
