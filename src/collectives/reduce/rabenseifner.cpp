// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/partition.hpp"

namespace antiphon::reduce_by_rabenseifner {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment of what is exchanged; 0 exchanges it whole"},
    {"window", Role::ahead, 2, 1, 1024, "segments that a rank may send ahead of what it has received"},
};

/// One rank's way through the halving: which part of the vector it still holds, and where.
class Halving {
 public:
  explicit Halving(const Problem& p)
      : p_(p), cut_(cut_of(p)), core_(static_cast<int>(std::bit_floor(static_cast<unsigned>(p.size)))),
        excess_(p.size - core_), blocks_(p.bytes, p.element_bytes, core_), held_(p.whole_input()), last_(core_) {}

  Schedule build() {
    if (!fold()) return std::move(s_);
    for (int distance = 1; distance < core_; distance *= 2) halve(distance);
    collect();
    return std::move(s_);
  }

 private:
  /// The member of the core for which a rank acts or into which it is folded, and the rank that acts for a member.
  [[nodiscard]] int member(int rank) const { return rank < 2 * excess_ ? rank / 2 : rank - excess_; }
  [[nodiscard]] int actor(int m) const {
    if (m >= excess_) return m + excess_;
    return p_.root == 2 * m + 1 ? p_.root : 2 * m;  // of a pair, the root if it is one of them
  }

  /// Beyond a power of two, neighbours pair up and one of each pair acts for both. Returns false for the other one.
  bool fold() {
    if (p_.rank >= 2 * excess_) return true;
    const int other = p_.rank ^ 1;
    if (actor(member(p_.rank)) != p_.rank) {
      if (p_.bytes > 0) s_.send(other, p_.whole_input(), {}, cut_);
      return false;
    }
    combine(other, p_.whole_input(), 0);
    return true;
  }

  /// Makes `mine`, a part of what is held, all that is held, combined with what comes from `other`. Ranks keep to rank
  /// order: a run of ranks is always combined with a neighbouring one.
  void combine(int other, Range mine, int tag) {
    const Range theirs = s_.scratch(mine.bytes);
    received_ = mine.bytes > 0 ? s_.recv(other, theirs, {}, cut_, tag) : no_op;
    if (p_.commutative || p_.rank < other) {
      ready_ = s_.reduce(mine, theirs, {pipelined(received_), ready_}, cut_);
      held_ = theirs;
    } else {
      Range to = mine;
      OpId copied = ready_;
      if (mine.space == Space::input) {  // the operand itself must not change
        to = s_.scratch(mine.bytes);
        copied = s_.copy(mine, to);
      }
      ready_ = s_.reduce(theirs, to, {pipelined(received_), copied}, cut_);
      held_ = to;
    }
  }

  void halve(int distance) {
    const int me = member(p_.rank);
    const int other = actor(me ^ distance);
    const int middle = (first_ + last_) / 2;
    const bool lower = (me & distance) == 0;
    const std::int64_t split = blocks_.size(first_, middle);
    const Range low = held_.sub(0, split);
    const Range high = held_.sub(split, held_.bytes - split);
    const Range out = lower ? high : low;
    const OpId before = ready_;
    combine(other, lower ? low : high, 1);
    if (out.bytes > 0) {
      const OpId sent = s_.send(other, out, {before, paced(received_, cut_.window)}, cut_, 1);
      if (out.space == Space::input) first_sent_ = sent;
    }
    (lower ? last_ : first_) = middle;
  }

  /// Sends the blocks to the root the way they came: from the farthest ranks first, in growing runs.
  void collect() {
    const bool root = p_.rank == p_.root;
    const int me = member(p_.rank);
    const int root_member = member(p_.root);
    const Range all = root ? p_.whole_output() : s_.scratch(p_.bytes);
    const auto run = [&](int begin, int end) { return blocks_.of(all, begin, end); };
    std::vector<Dep> have{ready_};
    have.push_back(Dep(s_.copy(held_, run(first_, last_), {ready_, first_sent_})));
    for (int distance = core_ / 2; distance > 0; distance /= 2) {
      const int other = actor(me ^ distance);
      const int length = last_ - first_;
      const bool lower = (me & distance) == 0;
      if ((me & distance) != (root_member & distance)) {
        const Range out = run(first_, last_);
        if (out.bytes > 0)
          s_.add({.kind = OpKind::send, .peer = other, .tag = 2, .from = out, .to = {}, .cut = cut_}, have);
        return;
      }
      const Range in = lower ? run(last_, last_ + length) : run(first_ - length, first_);
      // have.back() comes after the last use of the operand, which an in-place root's output is.
      if (in.bytes > 0) have.push_back(Dep(s_.recv(other, in, {have.back()}, cut_, 2)));
      (lower ? last_ : first_) += lower ? length : -length;
    }
  }

  const Problem& p_;
  Schedule s_;
  Cut cut_;
  int core_, excess_;
  Partition blocks_;
  Range held_;  ///< blocks first_…last_−1
  int first_ = 0;
  int last_;
  OpId ready_ = no_op;       ///< the operation after which held_ is there
  OpId received_ = no_op;    ///< the last exchange's receive
  OpId first_sent_ = no_op;  ///< the send that reads the operand itself
};

/// Reduce-scatter by recursive halving, nearest ranks first so that ordered operations keep their order, then a gather
/// to the root that reverses it (Rabenseifner, "Optimization of collective reduction operations", 2004). Ranks beyond a
/// power of two fold into a neighbour. Cost (pLogP): 2 ⌈log2 P⌉ L + 2 m/B, and no more combining than m a rank; up to
/// m/B more if P is not a power of two. Good where combining is expensive or there are many ranks.
Schedule build(const Problem& p) { return Halving(p).build(); }

}  // namespace

extern const Algorithm reduce{
    .collective = Collective::reduce,
    .name = "rabenseifner",
    .summary = "reduce-scatter by halving, then a gather; long messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::reduce_by_rabenseifner
