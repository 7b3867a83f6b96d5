// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/cut.hpp"
#include "patterns/reduce_scatter.hpp"
#include "patterns/ring.hpp"
#include "patterns/switch_blocks.hpp"

namespace antiphon::reduce_scatter_by_switch_rings {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", Role::ahead, 8, 1, 1024, "segments under way to the next rank"},
    {"uplink_bytes", Role::amount, 65536, 1024, 1 << 30, "bytes under way over an uplink"},
};

bool supported(const Problem& p) { return p.commutative && has_switches(p); }

/// One rank's part.
class SwitchRings {
 public:
  explicit SwitchRings(const Problem& p)
      : p_(p), blocks_(p), ring_{p.rank - blocks_.own().first, blocks_.own().size(), cut_of(p), blocks_.own().first},
        uplink_cut_(uplink_cut(p, blocks_.most_ranks())), lanes_(ring_.cut) {}

  Schedule build() {
    // Sums for other switches first, which travel while this switch reduces its own.
    const auto& passes = blocks_.passes();
    for (std::size_t i = passes.size() - 1; i > 0; --i) send_sum(passes[i]);
    Sum sum = reduce(passes[0], p_.in_place || ring_.size == 1 ? s_.scratch(p_.bytes) : p_.whole_output());
    if (p_.bytes == 0) return std::move(s_);
    if (ring_.size == 1) sum = copied(sum);
    for (const int carrier : blocks_.carriers()) {
      const Range landing = s_.scratch(p_.bytes);
      const OpId received = s_.recv(carrier, landing, {}, uplink_cut_);
      sum.since = s_.reduce(landing, sum.where, {pipelined(received), sum.since}, {uplink_cut_.piece_bytes, 0});
    }
    if (p_.in_place || ring_.size == 1) copy_to_output(s_, p_, sum.where, sum.since, uses_);
    return std::move(s_);
  }

 private:
  struct Sum {
    Range where;
    OpId since = no_op;
  };

  /// Reduces a pass's blocks round the ring; this rank's is then in `result`, or where it was if it is alone.
  Sum reduce(const std::vector<int>& pass, const Range& result) {
    std::vector<Range> operands;
    for (const int place : pass) operands.push_back(place < 0 ? Range{} : p_.input_block(place));
    if (ring_.size == 1) return {operands[0], no_op};
    const RingReduced done = ring_reduce_scatter(s_, ring_, {operands, {}, result}, no_op, lanes_);
    uses_.insert(uses_.end(), done.last_use.begin(), done.last_use.end());
    uses_.push_back(done.result);
    return {result, done.result};
  }

  void send_sum(const std::vector<int>& pass) {
    const int owner = pass[at(ring_.rank)];
    const std::int64_t bytes = owner < 0 ? 0 : p_.input_block(owner).bytes;
    const Sum sum = reduce(pass, s_.scratch(bytes));
    if (bytes > 0) uses_.push_back(s_.send(owner, sum.where, {after(sum.since, ring_.cut, uplink_cut_)}, uplink_cut_));
  }

  Sum copied(const Sum& sum) {
    const Range copy = s_.scratch(p_.bytes);
    return {copy, s_.copy(sum.where, copy)};
  }

  const Problem& p_;
  SwitchBlocks blocks_;
  Ring ring_;
  Cut uplink_cut_;
  RingLanes lanes_;
  Schedule s_;
  std::vector<OpId> uses_;  ///< of the input
};

/// The ranks of a switch reduce what they have of each block round a ring, and send the sums for ranks of other
/// switches there, where they are added up: an uplink carries one sum of each block, where a ring of all ranks carries
/// all of them over each uplink in both directions. Cost (pLogP): (P−1)(g(m) + reduce(segment)) as a ring's, in
/// P/S + 1 steps for S switches.
Schedule build(const Problem& p) { return SwitchRings(p).build(); }

}  // namespace

extern const Algorithm reduce_scatter{
    .collective = Collective::reduce_scatter,
    .name = "switch_rings",
    .summary = "rings within switches, then one sum of each block to its rank; several switches",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
};

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "switch_rings",
    .summary = "rings within switches, then one sum of each block to its rank; several switches",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
};

}  // namespace antiphon::reduce_scatter_by_switch_rings
