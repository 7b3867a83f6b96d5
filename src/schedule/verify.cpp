// SPDX-License-Identifier: Apache-2.0
// The in-process verifier: all ranks of a collective, one thread, real bytes, random interleavings.
#include "antiphon/verify.hpp"

#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <tuple>

#include "antiphon/progress.hpp"

namespace antiphon {

namespace {

struct Active {
  int rank;
  Progress::Piece piece;
};

/// Bytes that an operation under way reads or writes.
struct Use {
  const std::byte* begin;
  const std::byte* end;
  bool writes;
  OpId op;
};

class Simulation {
 public:
  Simulation(const std::vector<Schedule>& schedules, const std::vector<Memory>& memories, const Reduction& reduction,
             std::uint64_t seed)
      : schedules_(schedules), memories_(memories), reduction_(reduction), random_(seed) {
    for (const Schedule& s : schedules) {
      progress_.push_back(std::make_unique<Progress>(s));
      scratch_.emplace_back(static_cast<std::size_t>(s.scratch_bytes()), std::byte{0xA5});
      uses_.emplace_back();
    }
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
  using Channel = std::tuple<int, int, int>;  // from, to, tag
  struct Messages {
    std::deque<Progress::Piece> sends, recvs;
  };

  bool step() {
    // Either a rank starts a piece, or something under way comes to its end; drawn at random while both are possible.
    const bool start_first = random_() % 2 == 0;
    return start_first ? start_something() || end_something() : end_something() || start_something();
  }

  bool start_something() {
    const auto ranks = static_cast<int>(schedules_.size());
    const int first = static_cast<int>(random_() % static_cast<unsigned>(ranks));
    for (int i = 0; i < ranks; ++i) {
      const int rank = (first + i) % ranks;
      Progress::Piece piece;
      if (progress_[static_cast<std::size_t>(rank)]->next(piece)) {
        start({rank, piece});
        return true;
      }
    }
    return false;
  }

  void start(const Active& a) {
    use(a);
    const Op& op = op_of(a);
    if (op.kind == OpKind::send) {
      const Channel channel{a.rank, op.peer, op.tag};
      messages_[channel].sends.push_back(a.piece);
      note_match(channel);
    } else if (op.kind == OpKind::recv) {
      const Channel channel{op.peer, a.rank, op.tag};
      messages_[channel].recvs.push_back(a.piece);
      note_match(channel);
    } else {
      local_.push_back(a);
    }
  }

  void note_match(const Channel& channel) {
    // Called after each post: it made a pair exactly if the other side was ahead.
    const Messages& m = messages_[channel];
    const std::size_t pairs = std::min(m.sends.size(), m.recvs.size());
    std::size_t& known = pairs_[channel];
    if (pairs > known) matched_.push_back(channel);
    known = pairs;
  }

  bool end_something() {
    const std::size_t choices = local_.size() + matched_.size();
    if (choices == 0) return false;
    const std::size_t pick = random_() % choices;
    if (pick < local_.size()) {
      const Active a = local_[pick];
      local_.erase(local_.begin() + static_cast<std::ptrdiff_t>(pick));
      end_local(a);
    } else {
      const auto at = matched_.begin() + static_cast<std::ptrdiff_t>(pick - local_.size());
      const Channel channel = *at;
      matched_.erase(at);
      deliver(channel);
    }
    return true;
  }

  void end_local(const Active& a) {
    const Op& op = op_of(a);
    const std::int64_t at = op.piece_offset(a.piece.index);
    const auto size = op.piece_size(a.piece.index);
    const std::byte* from = address(a.rank, op.from) + at;
    std::byte* to = address(a.rank, op.to) + at;
    if (size > 0 && op.kind == OpKind::copy && from != to) std::memcpy(to, from, static_cast<std::size_t>(size));
    if (size > 0 && op.kind == OpKind::reduce) reduction_(from, to, size);
    finish(a);
  }

  void deliver(const Channel& channel) {
    auto& [sends, recvs] = messages_[channel];
    const Active sender{std::get<0>(channel), sends.front()};
    const Active receiver{std::get<1>(channel), recvs.front()};
    sends.pop_front();
    recvs.pop_front();
    --pairs_[channel];
    const Op& out = op_of(sender);
    const Op& in = op_of(receiver);
    const std::int64_t bytes = out.piece_size(sender.piece.index);
    if (bytes != in.piece_size(receiver.piece.index)) {
      error_ = describe(sender) + " is " + std::to_string(bytes) + " bytes, but " + describe(receiver) + " expects " +
               std::to_string(in.piece_size(receiver.piece.index));
      return;
    }
    if (bytes > 0) {
      std::memcpy(address(receiver.rank, in.to) + in.piece_offset(receiver.piece.index),
                  address(sender.rank, out.from) + out.piece_offset(sender.piece.index), static_cast<std::size_t>(bytes));
    }
    finish(sender);
    finish(receiver);
  }

  void finish(const Active& a) {
    auto& uses = uses_[static_cast<std::size_t>(a.rank)];
    const auto range = uses.equal_range({a.piece.op, a.piece.index});
    uses.erase(range.first, range.second);
    progress_[static_cast<std::size_t>(a.rank)]->complete(a.piece);
  }

  /// Records what the piece reads and writes; an overlap with something under way is a race.
  void use(const Active& a) {
    const Op& op = op_of(a);
    const std::int64_t at = op.piece_offset(a.piece.index);
    const std::int64_t size = op.piece_size(a.piece.index);
    if (size == 0) return;
    const std::byte* from = address(a.rank, op.from) + at;
    const std::byte* to = address(a.rank, op.to) + at;
    if (op.kind == OpKind::copy && from == to) return;
    if (op.kind != OpKind::recv) claim(a, {from, from + size, false, a.piece.op});
    if (op.kind != OpKind::send) claim(a, {to, to + size, true, a.piece.op});
  }

  void claim(const Active& a, const Use& wanted) {
    auto& uses = uses_[static_cast<std::size_t>(a.rank)];
    for (const auto& [key, held] : uses) {
      const bool overlap = wanted.begin < held.end && held.begin < wanted.end;
      if (overlap && (wanted.writes || held.writes) && error_.empty()) {
        error_ = describe(a) + " and operation " + std::to_string(held.op) + " use the same bytes at the same time";
      }
    }
    uses.insert({{a.piece.op, a.piece.index}, wanted});
  }

  std::optional<std::string> check_ranges(int rank) const {
    const Memory& m = memories_[static_cast<std::size_t>(rank)];
    const Schedule& s = schedules_[static_cast<std::size_t>(rank)];
    for (OpId id = 0; id < s.ops().size(); ++id) {
      const Op& op = s.ops()[id];
      const bool bad_peer = op.kind <= OpKind::recv && (op.peer < 0 || op.peer >= static_cast<int>(schedules_.size()));
      if (bad_peer) return describe({rank, {id, 0}}) + " names a rank that does not exist";
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
      if (!progress_[r]->done()) return "deadlock: rank " + std::to_string(r) + " of " + std::to_string(progress_.size()) + " cannot go on";
    }
    for (const auto& [channel, m] : messages_) {
      if (!m.sends.empty() || !m.recvs.empty()) return "a message that the other side never sends or receives";
    }
    return std::nullopt;
  }

  [[nodiscard]] const Op& op_of(const Active& a) const { return schedules_[static_cast<std::size_t>(a.rank)].ops()[a.piece.op]; }

  std::byte* address(int rank, const Range& range) {
    const auto r = static_cast<std::size_t>(rank);
    std::byte* base = range.space == Space::input    ? memories_[r].input
                      : range.space == Space::output ? memories_[r].output
                                                     : scratch_[r].data();
    return base + range.offset_bytes;
  }

  [[nodiscard]] static std::string describe(const Active& a) {
    return "rank " + std::to_string(a.rank) + " operation " + std::to_string(a.piece.op) + " piece " + std::to_string(a.piece.index);
  }

  const std::vector<Schedule>& schedules_;
  const std::vector<Memory>& memories_;
  const Reduction& reduction_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Progress>> progress_;
  std::vector<std::vector<std::byte>> scratch_;
  std::vector<std::multimap<std::pair<OpId, std::int64_t>, Use>> uses_;
  std::map<Channel, Messages> messages_;
  std::map<Channel, std::size_t> pairs_;
  std::vector<Channel> matched_;  ///< one entry for each message that can be delivered
  std::vector<Active> local_;
  std::string error_;
};

}  // namespace

std::optional<std::string> run_in_process(const std::vector<Schedule>& schedules, const std::vector<Memory>& memories,
                                          const Reduction& reduction, std::uint64_t seed) {
  return Simulation(schedules, memories, reduction, seed).run();
}

}  // namespace antiphon
