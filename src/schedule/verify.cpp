// SPDX-License-Identifier: Apache-2.0
// The in-process verifier: all ranks of a collective, one thread, real bytes, random interleavings.
#include "antiphon/verify.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "antiphon/index.hpp"
#include "antiphon/progress.hpp"
#include "antiphon/random.hpp"
#include "schedule/matching.hpp"

namespace antiphon {

namespace {

struct Active {
  int rank;
  Progress::Piece piece;
};

/// The bytes that an operation under way reads or writes.
struct Use {
  const std::byte* begin;
  const std::byte* end;
  bool writes;
  Progress::Piece piece;
};

class Verification {
 public:
  Verification(const std::vector<Schedule>& schedules, const std::vector<Memory>& memories, const Reduction& reduction,
               std::uint64_t seed)
      : schedules_(schedules), memories_(memories), reduction_(reduction), random_(seed) {
    for (const Schedule& s : schedules) {
      progress_.push_back(std::make_unique<Progress>(s));
      scratch_.emplace_back(static_cast<std::size_t>(s.scratch_bytes()), std::byte{0xA5});
      uses_.emplace_back();
    }
    may_start_.assign(schedules.size(), true);
    starters_.resize(schedules.size());
    std::iota(starters_.begin(), starters_.end(), 0);
  }

  std::optional<std::string> run() {
    for (std::size_t r = 0; r < schedules_.size(); ++r) {
      if (auto wrong = check_ranges(static_cast<int>(r))) return wrong;
    }
    while (step()) {
      if (!error_.empty()) return error_;
    }
    if (!error_.empty()) return error_;
    return check_end();
  }

 private:
  /// Both sides of a message, matched.
  struct Pair {
    Active sender, receiver;
  };
  using PieceKey = std::tuple<int, OpId, std::int64_t>;

  bool step() {
    // Either a rank starts a piece, or something under way ends. While both are possible, chance decides.
    const bool start_first = random_.below(2) == 0;
    return start_first ? start_something() || end_something() : end_something() || start_something();
  }

  bool start_something() {
    while (!starters_.empty()) {
      const std::size_t pick = random_.below(static_cast<std::uint32_t>(starters_.size()));
      const int rank = starters_[pick];
      Progress::Piece piece;
      if (progress_[at(rank)]->next(piece)) {
        start({rank, piece});
        return true;
      }
      take(starters_, pick);
      may_start_[at(rank)] = false;
    }
    return false;
  }

  /// Takes an element out of a list whose order does not matter.
  template <class T>
  static T take(std::vector<T>& list, std::size_t place) {
    std::swap(list[place], list.back());
    T taken = std::move(list.back());
    list.pop_back();
    return taken;
  }

  void start(const Active& a) {
    use(a);
    const Op& op = op_of(a);
    switch (op.kind) {
      case OpKind::send: post(a, {a.rank, op.peer, op.tag, false}); break;
      case OpKind::recv: post(a, {op.peer, a.rank, op.tag, op.group >= 0}); break;
      case OpKind::multicast: multicast(a); break;
      default: local_.push_back(a); break;
    }
  }

  void post(const Active& a, const Channel& channel) {
    const bool receives = op_of(a).kind == OpKind::recv;
    const auto other = matching_.match(channel, receives ? Side::receive : Side::send, [&] { return a; });
    if (!other) return;
    pairs_[channel].push(receives ? Pair{*other, a} : Pair{a, *other});
    deliverable_.push_back(channel);
  }

  void multicast(const Active& a) {
    int receivers = 0;
    for (const int member : members_of(a)) {
      if (member == a.rank) continue;
      ++receivers;
      post(a, {a.rank, member, op_of(a).tag, true});
    }
    undelivered_[key_of(a)] = receivers;
    if (receivers == 0) finish(a);
  }

  bool end_something() {
    const std::size_t choices = local_.size() + deliverable_.size();
    if (choices == 0) return false;
    const std::size_t pick = random_.below(static_cast<std::uint32_t>(choices));
    if (pick < local_.size()) end_local(take(local_, pick));
    else deliver(pairs_[take(deliverable_, pick - local_.size())].pop());
    return true;
  }

  void end_local(const Active& a) {
    const Op& op = op_of(a);
    const auto size = op.piece_size(a.piece.index);
    const std::byte* from = address(a.rank, op.from_piece(a.piece.index));
    std::byte* to = address(a.rank, op.to_piece(a.piece.index));
    if (size > 0 && op.kind == OpKind::copy && from != to) std::memcpy(to, from, static_cast<std::size_t>(size));
    if (size > 0 && op.kind == OpKind::reduce) reduction_(from, to, size);
    if (op.kind == OpKind::encode) encode(from, to, size);
    if (op.kind == OpKind::decode && !decode(from, to, size)) {
      error_ = describe(a) + " decodes what is not " + std::to_string(size) + " encoded bytes";
    }
    finish(a);
  }

  /// The simplest code with frames of different lengths: it leaves out zeros at the end. A slot holds the frame's
  /// length and the frame; a frame holds the data's length, in as much room as a real one's head has, and the data.
  static constexpr std::int64_t head_bytes = encoded_overhead_bytes - 8;

  static void encode(const std::byte* from, std::byte* slot, std::int64_t size) {
    std::int64_t kept = size;
    while (kept > 0 && from[kept - 1] == std::byte{0}) --kept;
    const std::int64_t frame = kept + head_bytes;
    std::memcpy(slot, &frame, 8);
    std::memcpy(slot + 8, &size, 8);
    if (kept > 0) std::memcpy(slot + encoded_overhead_bytes, from, static_cast<std::size_t>(kept));
  }

  static bool decode(const std::byte* slot, std::byte* to, std::int64_t size) {
    std::int64_t frame = 0;
    std::int64_t raw = 0;
    std::memcpy(&frame, slot, 8);
    std::memcpy(&raw, slot + 8, 8);
    if (raw != size || frame < head_bytes || frame > size + head_bytes) return false;
    if (size > 0) std::memset(to, 0, static_cast<std::size_t>(size));
    const std::int64_t kept = frame - head_bytes;
    if (kept > 0) std::memcpy(to, slot + encoded_overhead_bytes, static_cast<std::size_t>(kept));
    return true;
  }

  void deliver(const Pair& pair) {
    const auto& [sender, receiver] = pair;
    if (auto wrong = mismatch(sender, receiver)) {
      error_ = *wrong;
      return;
    }
    const Op& out = op_of(sender);
    const Op& in = op_of(receiver);
    const std::byte* from = address(sender.rank, out.from_piece(sender.piece.index));
    std::int64_t bytes = out.piece_size(sender.piece.index);
    if (out.encoded) {
      std::memcpy(&bytes, from, 8);
      bytes += 8;
    }
    if (bytes > 0)
      std::memcpy(address(receiver.rank, in.to_piece(receiver.piece.index)), from, static_cast<std::size_t>(bytes));
    if (out.kind != OpKind::multicast || --undelivered_[key_of(sender)] == 0) finish(sender);
    finish(receiver);
  }

  /// Returns why the two sides do not fit together.
  std::optional<std::string> mismatch(const Active& sender, const Active& receiver) const {
    const Op& out = op_of(sender);
    const Op& in = op_of(receiver);
    const std::int64_t bytes = out.piece_size(sender.piece.index);
    const std::int64_t expected = in.piece_size(receiver.piece.index);
    if (bytes != expected) {
      return describe(sender) + " is " + std::to_string(bytes) + " bytes, but " + describe(receiver) + " expects " +
             std::to_string(expected);
    }
    if (out.encoded != in.encoded)
      return describe(sender) + " and " + describe(receiver) + " differ on whether the message is encoded";
    if (out.kind == OpKind::multicast && members_of(sender) != members_of(receiver)) {
      return describe(sender) + " and " + describe(receiver) + " name different groups";
    }
    if (!out.encoded) return std::nullopt;
    std::int64_t frame = 0;
    std::memcpy(&frame, address(sender.rank, out.from_piece(sender.piece.index)), 8);
    if (frame < 0 || frame + 8 > bytes) return describe(sender) + " sends a slot into which nothing was encoded";
    return std::nullopt;
  }

  void finish(const Active& a) {
    std::erase_if(uses_[at(a.rank)],
                  [&](const Use& use) { return use.piece.op == a.piece.op && use.piece.index == a.piece.index; });
    progress_[at(a.rank)]->complete(a.piece);
    if (may_start_[at(a.rank)]) return;
    may_start_[at(a.rank)] = true;
    starters_.push_back(a.rank);
  }

  /// Records what the piece reads and writes. An overlap with something under way is a race.
  void use(const Active& a) {
    const Op& op = op_of(a);
    const Range in = op.from_piece(a.piece.index);
    const Range out = op.to_piece(a.piece.index);
    const std::byte* from = address(a.rank, in);
    const std::byte* to = address(a.rank, out);
    if (op.kind == OpKind::copy && from == to) return;
    if (op.kind != OpKind::recv && in.bytes > 0) claim(a, {from, from + in.bytes, false, a.piece});
    const bool writes = op.kind != OpKind::send && op.kind != OpKind::multicast;
    if (writes && out.bytes > 0) claim(a, {to, to + out.bytes, true, a.piece});
  }

  void claim(const Active& a, const Use& wanted) {
    auto& uses = uses_[at(a.rank)];
    for (const Use& held : uses) {
      const bool overlap = wanted.begin < held.end && held.begin < wanted.end;
      if (overlap && (wanted.writes || held.writes) && error_.empty()) {
        error_ =
            describe(a) + " and operation " + std::to_string(held.piece.op) + " use the same bytes at the same time";
      }
    }
    uses.push_back(wanted);
  }

  std::optional<std::string> check_ranges(int rank) const {
    const Memory& m = memories_[at(rank)];
    const Schedule& s = schedules_[at(rank)];
    for (OpId id = 0; id < s.ops().size(); ++id) {
      const Op& op = s.ops()[id];
      const auto exists = [&](int peer) { return peer >= 0 && peer < static_cast<int>(schedules_.size()); };
      const bool point_to_point = op.kind == OpKind::send || op.kind == OpKind::recv;
      if (point_to_point && !exists(op.peer)) return describe({rank, {id, 0}}) + " names a rank that does not exist";
      if (op.group >= 0) {
        const auto& members = members_of({rank, {id, 0}});
        if (!std::all_of(members.begin(), members.end(), exists))
          return describe({rank, {id, 0}}) + " names a rank that does not exist";
        if (std::find(members.begin(), members.end(), rank) == members.end())
          return describe({rank, {id, 0}}) + " is not in its group";
      }
      for (const Range& range : {op.from, op.to}) {
        const std::int64_t end = range.space == Space::input    ? m.input_bytes
                                 : range.space == Space::output ? m.output_bytes
                                                                : s.scratch_bytes();
        if (range.bytes > 0 && (range.offset_bytes < 0 || range.offset_bytes + range.bytes > end)) {
          return describe({rank, {id, 0}}) + " is outside its memory";
        }
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> check_end() const {
    for (std::size_t r = 0; r < progress_.size(); ++r) {
      if (!progress_[r]->done())
        return "deadlock: rank " + std::to_string(r) + " of " + std::to_string(progress_.size()) + " cannot go on";
    }
    if (!matching_.empty()) return "a message that the other side never sends or receives";
    return std::nullopt;
  }

  [[nodiscard]] const Op& op_of(const Active& a) const { return schedules_[at(a.rank)].ops()[a.piece.op]; }

  [[nodiscard]] const std::vector<std::int32_t>& members_of(const Active& a) const {
    return schedules_[at(a.rank)].groups()[at(op_of(a).group)];
  }
  [[nodiscard]] static PieceKey key_of(const Active& a) { return {a.rank, a.piece.op, a.piece.index}; }

  [[nodiscard]] std::byte* address(int rank, const Range& range) const {
    const auto r = at(rank);
    std::byte* base = range.space == Space::input    ? memories_[r].input
                      : range.space == Space::output ? memories_[r].output
                                                     : const_cast<std::byte*>(scratch_[r].data());
    // An empty range may stand in a space without memory.
    return base == nullptr ? nullptr : base + range.offset_bytes;
  }

  [[nodiscard]] static std::string describe(const Active& a) {
    return "rank " + std::to_string(a.rank) + " operation " + std::to_string(a.piece.op) + " piece " +
           std::to_string(a.piece.index);
  }

  const std::vector<Schedule>& schedules_;
  const std::vector<Memory>& memories_;
  const Reduction& reduction_;
  Random random_;
  std::vector<std::unique_ptr<Progress>> progress_;
  std::vector<std::vector<std::byte>> scratch_;
  std::vector<std::vector<Use>> uses_;
  std::vector<char> may_start_;  ///< by rank: something of it ended since it had nothing to start
  std::vector<int> starters_;    ///< the ranks that may
  Matching<Active> matching_;
  std::unordered_map<Channel, Fifo<Pair>, ChannelHash> pairs_;  ///< in a channel messages arrive in order
  std::vector<Channel> deliverable_;                            ///< one entry for each of the pairs
  std::map<PieceKey, int> undelivered_;                         ///< multicasts under way: receivers that do not have it
  std::vector<Active> local_;
  std::string error_;
};

}  // namespace

std::optional<std::string> run_in_process(const std::vector<Schedule>& schedules, const std::vector<Memory>& memories,
                                          const Reduction& reduction, std::uint64_t seed) {
  return Verification(schedules, memories, reduction, seed).run();
}

}  // namespace antiphon
