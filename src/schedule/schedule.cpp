// SPDX-License-Identifier: Apache-2.0
#include "antiphon/schedule.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "antiphon/error.hpp"
#include "antiphon/fnv.hpp"

namespace antiphon {

namespace {

constexpr std::array<std::string_view, 7> kind_names{"send", "recv", "copy", "reduce", "multicast", "encode", "decode"};
constexpr std::array<std::string_view, 3> space_names{"input", "output", "scratch"};

std::string text(const Range& range) {
  std::string out(name(range.space));
  return out + '[' + std::to_string(range.offset_bytes) + '+' + std::to_string(range.bytes) + ']';
}

std::string text(const std::vector<std::int32_t>& members) {
  std::string out = "{";
  for (const std::int32_t member : members) {
    if (out.size() > 1) out += ',';
    out += std::to_string(member);
  }
  return out + '}';
}

std::string text(const Dep& dep) {
  std::string out = std::to_string(dep.op);
  if (dep.lag == Dep::whole) return out;
  return out + (dep.lag == 0 ? "/piece" : "/piece-" + std::to_string(dep.lag));
}

}  // namespace

std::string_view name(OpKind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }
std::string_view name(Space space) { return space_names.at(static_cast<std::size_t>(space)); }

OpId Schedule::send(int to_rank, Range from, Deps deps, Cut cut, int tag) {
  return add({.kind = OpKind::send, .peer = to_rank, .tag = tag, .from = from, .to = {}, .cut = cut}, deps);
}

OpId Schedule::recv(int from_rank, Range to, Deps deps, Cut cut, int tag) {
  return add({.kind = OpKind::recv, .peer = from_rank, .tag = tag, .from = {}, .to = to, .cut = cut}, deps);
}

OpId Schedule::copy(Range from, Range to, Deps deps, Cut cut) {
  return add({.kind = OpKind::copy, .from = from, .to = to, .cut = cut}, deps);
}

OpId Schedule::reduce(Range from, Range to, Deps deps, Cut cut) {
  return add({.kind = OpKind::reduce, .from = from, .to = to, .cut = cut}, deps);
}

OpId Schedule::multicast(int group, Range from, Deps deps, Cut cut, int tag) {
  return add({.kind = OpKind::multicast, .tag = tag, .from = from, .to = {}, .cut = cut, .group = group}, deps);
}

OpId Schedule::recv_multicast(int from_rank, int group, Range to, Deps deps, Cut cut, int tag) {
  return add({.kind = OpKind::recv, .peer = from_rank, .tag = tag, .from = {}, .to = to, .cut = cut, .group = group},
             deps);
}

OpId Schedule::encode(Range from, Range to, Deps deps, Cut cut) {
  return add({.kind = OpKind::encode, .from = from, .to = to, .cut = cut}, deps);
}

OpId Schedule::decode(Range from, Range to, Deps deps, Cut cut) {
  return add({.kind = OpKind::decode, .from = from, .to = to, .cut = cut}, deps);
}

OpId Schedule::add(Op op, std::span<const Dep> deps) {
  if (ops_.size() >= no_op) throw InvalidArgument("a schedule holds too many operations");
  check(op);
  op.deps_begin = op.deps_end = static_cast<std::uint32_t>(deps_.size());
  ops_.push_back(op);
  for (const Dep& dep : deps) after(dep);
  return static_cast<OpId>(ops_.size() - 1);
}

void Schedule::check(const Op& op) const {
  if (op.bytes() < 0 || op.cut.piece_bytes < 0 || op.cut.window < 0)
    throw InvalidArgument("negative size in an operation");
  const bool two_sided = op.kind == OpKind::copy || op.kind == OpKind::reduce;
  if (two_sided && op.from.bytes != op.to.bytes)
    throw InvalidArgument("copy or reduce between ranges of different length");
  if (op.kind == OpKind::encode && op.to.bytes != encoded_bytes(op.from.bytes, op.cut)) {
    throw InvalidArgument("encode into a range of the wrong length");
  }
  if (op.kind == OpKind::decode && op.from.bytes != encoded_bytes(op.to.bytes, op.cut)) {
    throw InvalidArgument("decode from a range of the wrong length");
  }
  if (op.encoded && op.piece_size(op.pieces() - 1) < encoded_overhead_bytes) {
    throw InvalidArgument("a message of encoded data with room for no frame");
  }
  const bool grouped = op.kind == OpKind::multicast || op.group >= 0;
  if (grouped && (op.group < 0 || op.group >= static_cast<int>(groups_.size())))
    throw InvalidArgument("no such multicast group");
}

void Schedule::after(Dep dep) {
  if (dep.op == no_op) return;
  if (ops_.empty() || dep.op >= ops_.size() - 1)
    throw InvalidArgument("an operation depends on one that is not before it");
  deps_.push_back(dep);
  ops_.back().deps_end = static_cast<std::uint32_t>(deps_.size());
}

Range Schedule::scratch(std::int64_t bytes) {
  // Ranges are aligned to cache lines, so that neighbours never share one and every element type is aligned.
  constexpr std::int64_t alignment_bytes = 64;
  const Range range{Space::scratch, scratch_bytes_, bytes};
  scratch_bytes_ += (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  return range;
}

int Schedule::group(std::vector<std::int32_t> members) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  const auto found = std::find(groups_.begin(), groups_.end(), members);
  if (found != groups_.end()) return static_cast<int>(found - groups_.begin());
  groups_.push_back(std::move(members));
  return static_cast<int>(groups_.size()) - 1;
}

std::uint64_t Schedule::hash() const {
  Fnv hasher;  // of what is not exposed to hostile input
  const auto add_range = [&](const Range& range) {
    hasher.add(static_cast<std::int64_t>(range.space));
    hasher.add(range.offset_bytes);
    hasher.add(range.bytes);
  };
  hasher.add(scratch_bytes_);
  for (const auto& members : groups_) {
    hasher.add(static_cast<std::int64_t>(members.size()));
    for (const std::int32_t member : members) hasher.add(member);
  }
  for (const Op& op : ops_) {
    hasher.add(static_cast<std::int64_t>(op.kind));
    hasher.add(op.peer);
    hasher.add(op.tag);
    add_range(op.from);
    add_range(op.to);
    hasher.add(op.cut.piece_bytes);
    hasher.add(op.cut.window);
    hasher.add(op.group);
    hasher.add(static_cast<std::int64_t>(op.encoded));
    for (const Dep& dep : deps(op)) {
      hasher.add(dep.op);
      hasher.add(dep.lag);
    }
  }
  return hasher.value();
}

std::string Schedule::to_string() const {
  std::string out;
  for (std::size_t id = 0; id < ops_.size(); ++id) {
    const Op& op = ops_[id];
    out += std::to_string(id) + ": " + std::string(name(op.kind));
    if (op.kind == OpKind::send) out += " to " + std::to_string(op.peer) + ' ' + text(op.from);
    if (op.kind == OpKind::recv) out += " from " + std::to_string(op.peer) + ' ' + text(op.to);
    if (op.kind == OpKind::multicast) out += ' ' + text(op.from);
    if (op.group >= 0) out += " group " + text(groups_[static_cast<std::size_t>(op.group)]);
    if (op.encoded) out += " encoded";
    if (!op.is_message()) out += ' ' + text(op.from) + " -> " + text(op.to);
    if (op.tag != 0) out += " tag " + std::to_string(op.tag);
    if (op.pieces() > 1)
      out += " pieces " + std::to_string(op.cut.piece_bytes) + " B window " + std::to_string(op.cut.window);
    const char* separator = " after ";
    for (const Dep& dep : deps(op)) {
      out += separator + text(dep);
      separator = ", ";
    }
    out += '\n';
  }
  return out;
}

}  // namespace antiphon
