// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/circulant_blocks.hpp"
#include "patterns/supports.hpp"

namespace antiphon::reduce_by_circulant {

namespace {

constexpr Parameter parameters[] = {
    {"block_bytes", Role::piece, 8192, 0, 1 << 30,
     "bytes per block, one block a round; 0: the whole message is one block"},
    {"blocks", Role::amount, 64, 1, 4096,
     "the most blocks; longer messages have longer blocks, in pieces of block_bytes"},
    {"window", Role::ahead, 2, 1, 64, "rounds that a rank may be ahead of what it has received"},
};

/// The partial results of one rank, block by block.
class Partial {
 public:
  Partial(Schedule& s, const Problem& p, const Partition& blocks, Cut cut)
      : s_(s), p_(p), blocks_(blocks), cut_(cut), last_(static_cast<std::size_t>(blocks.parts()), no_op),
        slots_(static_cast<std::size_t>(p.parameter("window")) + 1, Slot{{}, no_op}) {
    // At an in-place root the output is the rank's own operand; elsewhere the first block that comes is written, and
    // then holds the result so far.
    operand_in_place_ = p.in_place && p.rank == p.root;
    result_ = p.rank == p.root ? p.whole_output() : s.scratch(p.bytes);
    for (Slot& slot : slots_) slot.range = s.scratch(blocks.size(0));
  }

  [[nodiscard]] bool has_result(int block) const { return last_[static_cast<std::size_t>(block)] != no_op; }
  /// What this rank has of the block so far, and the operation after which it is there.
  [[nodiscard]] Range range(int block) const {
    return blocks_.of(has_result(block) ? result_ : p_.whole_input(), block);
  }
  [[nodiscard]] OpId when(int block) const { return last_[static_cast<std::size_t>(block)]; }

  void receive(RoundOrder& order, int from, int block) {
    OpId& last = last_[static_cast<std::size_t>(block)];
    const Range result = blocks_.of(result_, block);
    if (last == no_op && !operand_in_place_) {
      const OpId received = s_.recv(from, result, {}, cut_, order.tag());
      order.received(s_, received);
      last = s_.reduce(blocks_.of(p_.whole_input(), block), result, {pipelined(received)}, cut_);
      return;
    }
    Slot& slot = slots_[at_++ % slots_.size()];
    const Range to = slot.range.sub(0, result.bytes);
    const OpId received = s_.recv(from, to, {slot.last_use}, cut_, order.tag());
    order.received(s_, received);
    last = slot.last_use = s_.reduce(to, result, {pipelined(received), last}, cut_);
  }

 private:
  struct Slot {
    Range range;
    OpId last_use;
  };

  Schedule& s_;
  const Problem& p_;
  const Partition& blocks_;
  Cut cut_;
  std::vector<OpId> last_;  ///< the last reduction into each block
  std::vector<Slot> slots_;
  std::size_t at_ = 0;
  Range result_;
  bool operand_in_place_ = false;
};

/// The circulant broadcast backwards: every block goes to the root the way it would come from there, and is combined
/// where ways meet (Träff, "Optimal broadcast schedules in logarithmic time", arXiv 2312.11236). Cost (pLogP), n
/// blocks: (n − 1 + ⌈log2 P⌉) (L + g(m/n)) plus the combining of one block a round. Good for medium and long messages
/// and any number of ranks.
Schedule build(const Problem& p) {
  Schedule s;
  if (p.size == 1) {
    s.copy(p.whole_input(), p.whole_output());
    return s;
  }
  const Partition blocks = circulant_blocks(p);
  const Cut cut{p.piece_parameter("block_bytes"), 0};
  RoundOrder order(static_cast<int>(p.parameter("window")));
  Partial partial(s, p, blocks, cut);
  const auto rounds = Circulant(p.relative(p.rank), p.size).rounds(blocks.parts());
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    order.begin();
    if (round->from >= 0) {
      const int block = round->recv_block;
      order.sent(s, s.send(p.absolute(round->from), partial.range(block), {partial.when(block)}, cut, order.tag()));
    }
    if (round->to >= 0) partial.receive(order, p.absolute(round->to), round->send_block);
  }
  return s;
}

}  // namespace

extern const Algorithm reduce{
    .collective = Collective::reduce,
    .name = "circulant",
    .summary = "blocks in the fewest possible rounds on a circulant graph; medium and long messages",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
};

}  // namespace antiphon::reduce_by_circulant
