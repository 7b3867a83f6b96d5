// SPDX-License-Identifier: Apache-2.0
#include "patterns/flat.hpp"

#include "patterns/cut.hpp"

namespace antiphon {

namespace {

/// Places in `lanes` lanes; in a lane one message follows the other.
class Lanes {
 public:
  Lanes(std::int64_t lanes, Cut cut) : lanes_(static_cast<std::size_t>(lanes)), cut_(cut) {}
  /// After the lane's last message, as its pieces go.
  [[nodiscard]] Dep next() const {
    const auto& lane = lanes_[at_];
    return lane.empty() ? Dep(no_op) : following(lane.back().id, lane.back().pieces, cut_);
  }
  /// The same, but where messages have fewer pieces than the window no more of them either than the window has pieces.
  [[nodiscard]] Dep within_window() const {
    const auto& lane = lanes_[at_];
    std::int64_t pieces = 0;
    for (auto message = lane.rbegin(); message != lane.rend(); ++message) {
      pieces += message->pieces;
      if (pieces >= cut_.window) return following(message->id, pieces, cut_);
    }
    return no_op;
  }
  void add(OpId id, std::int64_t bytes) {
    lanes_[at_].push_back({id, pieces_of(bytes, cut_)});
    at_ = (at_ + 1) % lanes_.size();
  }

 private:
  struct Message {
    OpId id = no_op;
    std::int64_t pieces = 0;
  };
  std::vector<std::vector<Message>> lanes_;
  std::size_t at_ = 0;
  Cut cut_;
};

/// Short blocks come unasked; the root posts this many receives of them ahead.
constexpr std::int64_t eager_ahead = 32;

void gather_at_root(Schedule& s, const Problem& p, Cut cut) {
  const std::int64_t eager_bytes = p.parameter("eager_bytes");
  Lanes granted(p.parameter("senders"), cut);
  Lanes eager(eager_ahead, {0, 1});
  for (int place = 1; place < p.size; ++place) {
    const int from = p.absolute(place);
    const Range block = p.output_block(from);
    if (block.bytes == 0) continue;
    if (block.bytes <= eager_bytes) {
      eager.add(s.recv(from, block, {eager.next()}, cut), block.bytes);
      continue;
    }
    // Asked for while the last pieces of the one before are on their way, so that the wire never waits for the grant.
    const Dep asked = granted.within_window();
    s.send_token(from, {asked});
    granted.add(s.recv(from, block, {asked}, cut), block.bytes);
  }
}

}  // namespace

Schedule scatter_flat(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  if (p.rank != p.root) {
    if (p.bytes > 0) s.recv(p.root, p.whole_output(), {}, cut);
    return s;
  }
  Lanes lanes(p.parameter("destinations"), cut);
  for (int place = 1; place < p.size; ++place) {
    const Range block = p.input_block(p.absolute(place));
    if (block.bytes > 0) lanes.add(s.send(p.absolute(place), block, {lanes.next()}, cut), block.bytes);
  }
  s.copy(p.input_block(p.rank), p.whole_output());
  return s;
}

Schedule gather_flat(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  if (p.rank == p.root) {
    gather_at_root(s, p, cut);
    s.copy(p.whole_input(), p.output_block(p.rank));
    return s;
  }
  if (p.bytes == 0) return s;
  OpId granted = no_op;
  if (p.bytes > p.parameter("eager_bytes")) granted = s.recv_token(p.root);
  s.send(p.root, p.whole_input(), {granted}, cut);
  return s;
}

}  // namespace antiphon
