// SPDX-License-Identifier: Apache-2.0
#include "antiphon/error.hpp"
#include "antiphon/phases.hpp"
#include "patterns/cut.hpp"
#include "patterns/lane.hpp"
#include "patterns/phases.hpp"

namespace antiphon {

namespace {

/// Messages match in posting order within a tag; parts of one message take turns with two tags (see Writer).
constexpr int data_tag = 0;
constexpr int permission_tag = 2;
constexpr int barrier_tag = 3;
constexpr int together_tag = 4;

/// Small messages under way at a time in each direction.
constexpr std::int64_t together_window = 32;
/// A receiver posts this many times more pieces than a sender may send.
constexpr std::int32_t ahead = 2;
/// A sender posts the receives for the permissions of this many parts.
constexpr std::size_t permissions_ahead = 4;

/// Writes one rank's schedule, phase by phase.
class Writer {
 public:
  Writer(const Problem& p, Synchronisation synchronisation, const Cut& cut)
      : p_(p), synchronisation_(synchronisation), cut_(cut), window_({cut.piece_bytes, ahead * cut.window}),
        received_(window_), to_(static_cast<std::size_t>(p.size)), from_(to_.size()) {}

  void keep_own() {
    const Range own = p_.input_block(p_.rank);
    if (own.bytes > 0) s_.copy(own, p_.output_block(p_.rank));
  }

  void add(const PhaseOfParts& phase) {
    if (synchronisation_ == Synchronisation::barrier && !first_) add_barrier_before();
    first_ = false;
    const auto begin = static_cast<OpId>(s_.ops().size());
    phase_start_ = received_.end();
    for (const Part& part : phase.parts) {
      if (part.to == p_.rank) phase.together ? receive_small(part) : receive(part);
      if (part.from == p_.rank) phase.together ? send_small(part) : send(part);
    }
    if (synchronisation_ != Synchronisation::barrier) return;
    entry_.clear();
    for (auto op = begin; op < s_.ops().size(); ++op) entry_.push_back(op);
  }

  Schedule finish() { return std::move(s_); }

 private:
  /// The parts of a message between two ranks in one direction, so far.
  struct Parts {
    int count = 0;
    OpId last = no_op;  ///< its data
    OpId before_last = no_op;
    OpId permission = no_op;  ///< to send the last part
  };

  [[nodiscard]] bool asks_for_tokens() const {
    return synchronisation_ == Synchronisation::tokens || synchronisation_ == Synchronisation::lockstep;
  }
  [[nodiscard]] Range input(const Part& part) const {
    return p_.input_block(part.to).sub(part.offset_bytes, part.bytes);
  }
  [[nodiscard]] Range output(const Part& part) const {
    return p_.output_block(part.from).sub(part.offset_bytes, part.bytes);
  }

  void after_barrier() {
    for (const OpId op : barrier_) s_.after(op);
  }

  void add_barrier_before() {
    std::vector<OpId> entry(entry_);
    if (entry.empty()) entry = barrier_;
    barrier_ = add_barrier(s_, p_.rank, p_.size, entry, barrier_tag);
  }

  /// Permissions leave when all but a window of the parts before has come in. Parts of a message take turns with two
  /// tags and the third waits for the first, since posting order alone does not tell to which part a piece belongs.
  void receive(const Part& part) {
    Parts& known = from_[static_cast<std::size_t>(part.from)];
    const std::int64_t start = received_.end();
    if (asks_for_tokens()) {
      s_.send_token(part.from, {}, permission_tag);
      received_.pace(s_, start, cut_.window);
    }
    const OpId op = s_.recv(part.from, output(part), {known.before_last}, window_, data_tag + known.count % 2);
    after_barrier();
    received_.append(s_);
    known.before_last = known.last;
    known.last = op;
    ++known.count;
    if (synchronisation_ != Synchronisation::grants) return;
    s_.send(part.from, s_.scratch(pieces_of(part.bytes, cut_)), {}, {1, cut_.window}, permission_tag);
    received_.pace(s_, start, cut_.window);
  }

  /// A part's data follow the part before it to the same rank; permissions are all alike and taken in order.
  void send(const Part& part) {
    Parts& known = to_[static_cast<std::size_t>(part.to)];
    const OpId earlier = sent_.size() < permissions_ahead ? no_op : sent_[sent_.size() - permissions_ahead];
    Dep permitted = no_op;
    if (asks_for_tokens()) {
      known.permission = s_.recv_token(part.to, {known.permission, earlier}, permission_tag);
      permitted = known.permission;
    } else if (synchronisation_ == Synchronisation::grants) {
      const Range granted = s_.scratch(pieces_of(part.bytes, cut_));
      known.permission = s_.recv(part.to, granted, {known.permission, earlier}, {1, cut_.window}, permission_tag);
      permitted = pipelined(known.permission);
    } else if (synchronisation_ == Synchronisation::none && !sent_.empty()) {
      permitted = sent_.back();
    }
    known.last = s_.send(part.to, input(part), {permitted, known.last}, cut_, data_tag + known.count % 2);
    if (synchronisation_ == Synchronisation::lockstep) received_.pace(s_, phase_start_, cut_.window);
    after_barrier();
    ++known.count;
    sent_.push_back(known.last);
  }

  void receive_small(const Part& part) {
    s_.recv(part.from, output(part), {oldest(small_received_)}, {}, together_tag);
    after_barrier();
    small_received_.push_back(static_cast<OpId>(s_.ops().size() - 1));
  }

  void send_small(const Part& part) {
    s_.send(part.to, input(part), {oldest(small_sent_)}, {}, together_tag);
    after_barrier();
    small_sent_.push_back(static_cast<OpId>(s_.ops().size() - 1));
  }

  [[nodiscard]] static OpId oldest(const std::vector<OpId>& ops) {
    return ops.size() < together_window ? no_op : ops[ops.size() - together_window];
  }

  Schedule s_;
  const Problem& p_;
  Synchronisation synchronisation_;
  Cut cut_, window_;
  Lane received_;
  std::vector<Parts> to_, from_;
  std::vector<OpId> sent_, small_sent_, small_received_, entry_, barrier_;
  std::int64_t phase_start_ = 0;  ///< of what is received
  bool first_ = true;
};

void check_against(const Phases& phases, const Problem& p) {
  const auto ranks = static_cast<std::size_t>(phases.size);
  if (p.size != phases.size || p.send_bytes.size() != ranks || p.recv_bytes.size() != ranks) {
    throw InvalidArgument("the phases are for " + std::to_string(phases.size) + " ranks");
  }
  std::vector<std::int64_t> out(ranks), in(ranks);
  for (const PhaseOfParts& phase : phases.phases) {
    for (const Part& part : phase.parts) {
      if (part.from == p.rank) out[static_cast<std::size_t>(part.to)] += part.bytes;
      if (part.to == p.rank) in[static_cast<std::size_t>(part.from)] += part.bytes;
    }
  }
  for (std::size_t i = 0; i < ranks; ++i) {
    if (static_cast<int>(i) == p.rank) continue;
    if (out[i] != p.send_bytes[i] || in[i] != p.recv_bytes[i]) {
      throw InvalidArgument("rank " + std::to_string(p.rank) + ": the phases have other sizes to or from rank " +
                            std::to_string(i));
    }
  }
}

}  // namespace

Schedule schedule_of(const Phases& phases, const Problem& p, Synchronisation synchronisation, const Cut& cut) {
  check_against(phases, p);
  if (cut.piece_bytes < 0 || cut.window < 1)
    throw InvalidArgument("a cut of phases needs pieces and a window of at least 1");
  Writer writer(p, synchronisation, cut);
  writer.keep_own();
  for (const PhaseOfParts& phase : phases.phases) writer.add(phase);
  return writer.finish();
}

}  // namespace antiphon
