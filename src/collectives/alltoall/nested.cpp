// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/block_row.hpp"

namespace antiphon::alltoall_algorithms {

namespace {

constexpr std::array<std::string_view, 3> among_nodes{"bruck", "windowed", "rotated"};
constexpr int bruck = 0;

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 1, 0, 2, "among nodes: 0 bruck, 1 windowed, 2 rotated"},
    {"radix", Role::fanout, 4, 2, 16, "outer=0: blocks travel in digits of this base"},
    {"lanes", Role::amount, 1, 1, 16, "leaders of a node, each of which exchanges the blocks for a part of the ranks"},
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a message; 0 sends whole messages"},
    {"window", Role::ahead, 8, 1, 1024, "pieces under way to one rank"},
};

/// A leader puts this many blocks in their places at most, one by one.
constexpr std::int64_t most_blocks = 1 << 16;

/// One place's part. A row is all blocks that one place sends or gets, in the order of the caller's memory.
class Nested {
 public:
  explicit Nested(const Problem& p)
      : p_(p), levels_(p, p.parameter("lanes")), s_(p), node_(levels_.own().places()), sent_(input_blocks(p)),
        got_(output_blocks(p)) {}

  Schedule build() {
    for (int lane = 0; lane < levels_.lanes(); ++lane) collect(lane);
    for (int lane = 0; lane < levels_.lanes(); ++lane) {
      if (levels_.leads(lane)) exchange(lane);
      deal(lane);
    }
    return s_.take();
  }

 private:
  /// The places whose blocks a lane carries.
  [[nodiscard]] std::vector<int> served(int lane) const {
    std::vector<int> list;
    for (int node = 0; node < levels_.nodes(); ++node) {
      for (const int place : levels_.lane(node, lane).places()) list.push_back(place);
    }
    return list;
  }

  /// Brings what the ranks of this node send by a lane to its leader: a whole row, or the part that the lane carries.
  void collect(int lane) {
    const std::vector<int> to = served(lane);
    const std::int64_t part_bytes = std::ssize(to) * p_.bytes;
    Range part{Space::input, 0, part_bytes};
    if (levels_.lanes() > 1) {
      part = s_.scratch(part_bytes);
      std::vector<Composition::Copy> copies;
      for (std::size_t i = 0; i < to.size(); ++i)
        copies.push_back({sent_[at(to[i])], part.sub(static_cast<std::int64_t>(i) * p_.bytes, p_.bytes)});
      s_.copy(copies);
    }
    std::vector<Range> rows = equal_blocks({}, levels_.own().size(), part_bytes);
    if (levels_.leads(lane)) {
      rows_ = equal_blocks(s_.scratch(std::ssize(rows) * part_bytes), levels_.own().size(), part_bytes);
      rows = rows_;
    }
    s_.within_node({.collective = Collective::gatherv,
                    .algorithm = "flat",
                    .members = node_,
                    .root = levels_.leader_index(lane),
                    .input = part,
                    .received = rows});
  }

  /// Where the row of the i-th rank of this node holds the block for a place, the j-th that the lane serves.
  [[nodiscard]] Range row_block(int i, int place, int j) const {
    const std::int64_t offset = levels_.lanes() > 1 ? j * p_.bytes : sent_[at(place)].offset_bytes;
    return rows_[at(i)].sub(offset, p_.bytes);
  }

  /// What goes from a node to another by a lane.
  [[nodiscard]] std::int64_t message_bytes(int from, int to, int lane) const {
    return levels_.node(from).size() * levels_.lane(to, lane).size() * p_.bytes;
  }

  /// Lays out memory for one message to, or from, each node. Bruck's algorithm has blocks of one length.
  [[nodiscard]] std::vector<Range> messages(int lane, bool out) {
    const int own = levels_.own_node();
    std::vector<std::int64_t> sizes;
    std::int64_t longest = 0;
    for (int node = 0; node < levels_.nodes(); ++node) {
      sizes.push_back(out ? message_bytes(own, node, lane) : message_bytes(node, own, lane));
      for (int other = 0; other < levels_.nodes(); ++other)
        longest = std::max(longest, message_bytes(node, other, lane));
    }
    if (p_.parameter("outer") == bruck) std::fill(sizes.begin(), sizes.end(), longest);
    std::int64_t all = 0;
    for (const std::int64_t size : sizes) all += size;
    Range rest = s_.scratch(all);
    std::vector<Range> list;
    for (const std::int64_t size : sizes) {
      list.push_back(rest.sub(0, size));
      rest = rest.sub(size, rest.bytes - size);
    }
    return list;
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
    for (int i = 0; i < levels_.own().size(); ++i) {
      std::vector<Composition::Copy> copies;
      int j = 0;
      for (int node = 0; node < levels_.nodes(); ++node) {
        const Run to = levels_.lane(node, lane);
        for (const int place : to.places()) {
          const int index = i * to.size() + place - to.first;
          copies.push_back({row_block(i, place, j++), out[at(node)].sub(index * p_.bytes, p_.bytes)});
        }
      }
      s_.copy(copies);
    }
  }

  void unpack(int lane, const std::vector<Range>& in) {
    const Run to = levels_.lane(levels_.own_node(), lane);
    make_results(to);
    for (int node = 0; node < levels_.nodes(); ++node) {
      const Run from = levels_.node(node);
      std::vector<Composition::Copy> copies;
      for (int receiver = 0; receiver < to.size(); ++receiver) {
        for (const int place : from.places()) {
          const int index = (place - from.first) * to.size() + receiver;
          copies.push_back({in[at(node)].sub(index * p_.bytes, p_.bytes),
                            results_[at(receiver)].sub(got_[at(place)].offset_bytes, p_.bytes)});
        }
      }
      s_.copy(copies);
    }
  }

  /// The rows that the ranks of this leader's lane get; its own is its output.
  void make_results(const Run& to) {
    for (const int place : to.places()) {
      const std::int64_t row_bytes = p_.size * p_.bytes;
      results_.push_back(place == p_.rank ? Range{Space::output, 0, row_bytes} : s_.scratch(row_bytes));
    }
  }

  void deal(int lane) {
    const Run to = levels_.lane(levels_.own_node(), lane);
    const int leader = levels_.leader(levels_.own_node(), lane);
    const std::vector<int> members = to.places();
    std::vector<Range> rows = equal_blocks({}, to.size(), p_.size * p_.bytes);
    if (levels_.leads(lane)) {
      rows = results_;
      rows[at(leader - to.first)] = {};  // It is in its place.
    }
    s_.within_node({.collective = Collective::scatterv,
                    .algorithm = "flat",
                    .members = members,
                    .root = leader - to.first,
                    .output = {Space::output, 0, p_.size * p_.bytes},
                    .sent = rows});
  }

  const Problem& p_;
  Levels levels_;
  Composition s_;
  std::vector<int> node_;
  std::vector<Range> sent_, got_;  ///< blocks by place, of any rank
  std::vector<Range> rows_;        ///< a leader's: what the ranks of its node send by its lane
  std::vector<Range> results_;     ///< a leader's: what the ranks of its lane get
};

/// The ranks of a node bring their blocks to its leader, which exchanges them with the other leaders, those for one
/// node together, and deals out what has come in: two nodes have one connection instead of one for each two ranks, and
/// N−1 or log2 N messages leave a node instead of R (P−R). With several lanes each leader exchanges the blocks for a
/// part of the ranks. Cost (pLogP): that of the outer algorithm for N nodes with blocks of R² m, 2 ((R−1) g(P m) + L)
/// within a node, and P R copies of m by a leader. Good for short blocks and several ranks a node.
Schedule build(const Problem& p) { return Nested(p).build(); }

bool supported(const Problem& p) {
  if (!has_levels(p)) return false;
  const std::int64_t most = *std::max_element(p.node_sizes.begin(), p.node_sizes.end());
  return most * p.size <= most_blocks * Levels(p, p.parameter("lanes")).lanes();
}

}  // namespace

extern const Algorithm nested{
    .collective = Collective::alltoall,
    .name = "nested",
    .summary = "blocks for one node travel together, among the nodes' leaders; short blocks, several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
    .levels = true,
};

}  // namespace antiphon::alltoall_algorithms
