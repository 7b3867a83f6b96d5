// SPDX-License-Identifier: Apache-2.0
#include "schedule/encoded.hpp"

#include <vector>

namespace antiphon {

namespace {

class Encoding {
 public:
  Encoding(const Schedule& plain, std::int64_t least_bytes, bool in_place)
      : plain_(plain), least_bytes_(least_bytes), in_place_(in_place), now_(plain.ops().size()) {}

  Schedule run() {
    out_.set_scratch_bytes(plain_.scratch_bytes());
    for (const auto& members : plain_.groups()) out_.group(members);
    for (OpId id = 0; id < plain_.ops().size(); ++id) {
      const Op& op = plain_.ops()[id];
      if (!op.is_message() || op.bytes() < least_bytes_) keep(id);
      else if (op.kind == OpKind::recv) receive(id);
      else send(id);
    }
    return std::move(out_);
  }

 private:
  /// What an operation of the plain schedule became.
  struct Now {
    OpId message = no_op;  ///< the operation itself
    OpId data = no_op;     ///< of a receive, the decode after which the data are there; of a send, the operation that
                           ///< reads its range
    Range frames{};        ///< its encoded data
  };

  void keep(OpId id) { now_[id].message = now_[id].data = out_.add(plain_.ops()[id], deps_of(id, no_op)); }

  void receive(OpId id) {
    Op op = plain_.ops()[id];
    const Range data = op.to;
    const Cut cut = op.cut;
    op.to = now_[id].frames = out_.scratch(encoded_bytes(data.bytes, cut));
    op.cut = encoded_cut(cut);
    op.encoded = true;
    now_[id].message = out_.add(op, deps_of(id, no_op));
    // The memory must also be free for the decode, so it waits for all that the receive waits for.
    std::vector<Dep> deps = deps_of(id, no_op);
    deps.push_back(pipelined(now_[id].message));
    now_[id].data =
        out_.add({.kind = OpKind::decode, .from = now_[id].frames, .to = data, .cut = {cut.piece_bytes, 0}}, deps);
  }

  void send(OpId id) {
    Op op = plain_.ops()[id];
    const Cut cut = op.cut;
    const OpId source = passed_on(id);
    OpId ready = no_op;
    if (source != no_op) {
      op.from = now_[source].frames;
      now_[id].data = now_[source].data;
    } else {
      ready = encode(id);
      op.from = now_[id].frames;
    }
    op.cut = encoded_cut(cut);
    op.encoded = true;
    std::vector<Dep> deps = deps_of(id, source);
    if (ready != no_op) deps.push_back(pipelined(ready));
    now_[id].message = out_.add(op, deps);
  }

  /// Returns the receive of exactly the data that this send passes on, if there is one.
  [[nodiscard]] OpId passed_on(OpId id) const {
    const Op& op = plain_.ops()[id];
    for (const Dep& dep : plain_.deps(op)) {
      const Op& before = plain_.ops()[dep.op];
      const bool same =
          before.kind == OpKind::recv && before.to == op.from && before.cut.piece_bytes == op.cut.piece_bytes;
      if (same && now_[dep.op].frames.bytes > 0 && (dep.lag == Dep::whole || dep.lag <= 0) &&
          !written_between(dep.op, id))
        return dep.op;
    }
    return no_op;
  }

  /// Encodes what the send reads, unless an earlier send encoded it and the data are still the same.
  OpId encode(OpId id) {
    const Op& op = plain_.ops()[id];
    for (OpId earlier = 0; earlier < id; ++earlier) {
      const Op& other = plain_.ops()[earlier];
      const bool sends = other.kind == OpKind::send || other.kind == OpKind::multicast;
      const bool same = sends && other.from == op.from && other.cut.piece_bytes == op.cut.piece_bytes;
      if (!same || passed_on(earlier) != no_op || written_between(earlier, id)) continue;
      now_[id] = {no_op, now_[earlier].data, now_[earlier].frames};
      return now_[id].data;
    }
    now_[id].frames = out_.scratch(encoded_bytes(op.from.bytes, op.cut));
    now_[id].data =
        out_.add({.kind = OpKind::encode, .from = op.from, .to = now_[id].frames, .cut = {op.cut.piece_bytes, 0}},
                 deps_of(id, no_op));
    return now_[id].data;
  }

  /// Returns whether an operation between these two may write what the second one reads.
  [[nodiscard]] bool written_between(OpId first, OpId second) const {
    const Range& read = plain_.ops()[second].from;
    for (OpId id = first + 1; id < second; ++id) {
      const Op& op = plain_.ops()[id];
      if (op.kind == OpKind::send || op.kind == OpKind::multicast) continue;
      const bool aliased =
          in_place_ && op.to.space != read.space && op.to.space != Space::scratch && read.space != Space::scratch;
      const bool overlap = op.to.space == read.space && op.to.offset_bytes < read.offset_bytes + read.bytes &&
                           read.offset_bytes < op.to.offset_bytes + op.to.bytes;
      if (op.to.bytes > 0 && (aliased || overlap)) return true;
    }
    return false;
  }

  /// Translates the plain operation's dependencies. A dependency on a receive waits for the data, except where they are
  /// passed on (`source`) or only the arrival counts (pacing of messages that do not touch the data).
  [[nodiscard]] std::vector<Dep> deps_of(OpId id, OpId source) const {
    std::vector<Dep> deps;
    for (const Dep& dep : plain_.deps(plain_.ops()[id])) {
      const Now& before = now_[dep.op];
      deps.push_back({dep.op == source                            ? before.message
                      : plain_.ops()[dep.op].kind == OpKind::recv ? before.data
                                                                  : before.message,
                      dep.lag});
      // A send that passes frames on does not read the data: an operation that waits for the send to have read them
      // waits for the decode.
      const bool sends = plain_.ops()[dep.op].kind == OpKind::send || plain_.ops()[dep.op].kind == OpKind::multicast;
      if (sends && before.data != no_op && before.data != before.message) deps.push_back({before.data, dep.lag});
    }
    return deps;
  }

  const Schedule& plain_;
  std::int64_t least_bytes_;
  bool in_place_;
  std::vector<Now> now_;
  Schedule out_;
};

}  // namespace

Schedule encoded(const Schedule& plain, std::int64_t least_bytes, bool in_place) {
  return Encoding(plain, least_bytes, in_place).run();
}

}  // namespace antiphon
