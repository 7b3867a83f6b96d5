// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphon {

/// The three memories a schedule works on. Offsets count packed bytes from the start of each.
enum class Space : std::uint8_t { input, output, scratch };

/// A byte range of one space.
struct Range {
  Space space = Space::scratch;
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;

  /// The part that begins `from` bytes into this range.
  [[nodiscard]] Range sub(std::int64_t from, std::int64_t count) const { return {space, offset_bytes + from, count}; }
  bool operator==(const Range&) const = default;
};

/// The closed set of operations. A schedule has no callbacks, so that all that is executed can also be costed, drawn
/// and compared.
enum class OpKind : std::uint8_t {
  send,       ///< read `from`, message to `peer`
  recv,       ///< message from `peer`, write `to`
  copy,       ///< to = from (nothing happens when both are the same memory)
  reduce,     ///< to = from OP to; `from` is the left operand (matters for operations that do not commute)
  multicast,  ///< read `from`, one message to all other members of `group`; each takes it by a recv that names the
              ///< group
  encode,     ///< to = `from` made smaller, one frame a piece
  decode,     ///< to = what was encoded into `from`
};

/// A range that holds encoded data has one slot per piece: 8 bytes with the frame's length (kept locally, never sent),
/// then the frame, which is at most 8 bytes longer than what it encodes. So a slot is this much longer than its piece.
inline constexpr std::int64_t encoded_overhead_bytes = 24;

using OpId = std::uint32_t;
/// An absent predecessor: it is allowed wherever a dependency is, and ignored. With it the first step of a loop reads
/// like the others.
inline constexpr OpId no_op = std::numeric_limits<OpId>::max();

/// What an operation waits for: another operation of the same rank, as a whole or piece by piece.
struct Dep {
  static constexpr std::int32_t whole = std::numeric_limits<std::int32_t>::min();
  OpId op = no_op;
  /// Piece k waits for pieces 0…k−lag of `op`. 0: a pipeline. w > 0: at most w pieces ahead of `op` (pacing). `whole`:
  /// all of it.
  std::int32_t lag = whole;

  Dep(OpId id) : op(id) {}  // NOLINT(google-explicit-constructor): {a, b} reads as "after a and b"
  Dep(OpId id, std::int32_t piece_lag) : op(id), lag(piece_lag) {}
  bool operator==(const Dep&) const = default;
};

/// Piece by piece after `op`.
inline Dep pipelined(OpId op) { return {op, 0}; }
/// Never more than `window` pieces ahead of `op`.
inline Dep paced(OpId op, std::int32_t window) { return {op, window}; }

/// How an operation is cut. The pieces of an operation are posted in order; a message's sender and receiver must cut
/// alike.
struct Cut {
  std::int64_t piece_bytes = 0;  ///< 0: one piece
  std::int32_t window = 0;       ///< pieces posted and not yet complete at any time; 0: all
  bool operator==(const Cut&) const = default;
};

/// The number of pieces that `cut` makes of `bytes` bytes; a zero-byte operation (a token) has one.
inline std::int64_t pieces_of(std::int64_t bytes, const Cut& cut) {
  return cut.piece_bytes <= 0 || bytes <= cut.piece_bytes ? 1 : (bytes + cut.piece_bytes - 1) / cut.piece_bytes;
}

/// Tags of a collective's schedule are below this number, so that schedules under way together can have different ones.
inline constexpr std::int32_t schedule_tags = 4096;

struct Op {
  OpKind kind = OpKind::copy;
  std::int32_t peer = -1;   ///< send, recv: rank of the other side
  std::int32_t tag = 0;     ///< messages between two ranks match in posting order within a tag
  Range from;               ///< all but recv
  Range to;                 ///< all but send and multicast
  Cut cut;                  ///< encode, decode: of the data that is not encoded
  std::int32_t group = -1;  ///< multicast, and the recv of one: index into Schedule::groups(); −1: none
  bool encoded = false;     ///< send, recv, multicast: the range holds slots of encoded data, each piece one of them
  std::uint32_t deps_begin = 0;  ///< into Schedule::all_deps()
  std::uint32_t deps_end = 0;

  [[nodiscard]] bool is_message() const {
    return kind == OpKind::send || kind == OpKind::recv || kind == OpKind::multicast;
  }
  /// The bytes that it reads or writes; encode, decode: of the data that is not encoded.
  [[nodiscard]] std::int64_t bytes() const {
    return kind == OpKind::recv || kind == OpKind::decode ? to.bytes : from.bytes;
  }
  [[nodiscard]] std::int64_t pieces() const { return pieces_of(bytes(), cut); }
  /// The bytes of piece k, relative to the range's start.
  [[nodiscard]] std::int64_t piece_offset(std::int64_t k) const { return k * cut.piece_bytes; }
  [[nodiscard]] std::int64_t piece_size(std::int64_t k) const {
    if (pieces() == 1) return bytes();
    const std::int64_t left = bytes() - piece_offset(k);
    return left < cut.piece_bytes ? left : cut.piece_bytes;
  }
  /// What piece k reads and writes.
  [[nodiscard]] Range from_piece(std::int64_t k) const { return part(from, k, kind == OpKind::decode); }
  [[nodiscard]] Range to_piece(std::int64_t k) const { return part(to, k, kind == OpKind::encode); }
  bool operator==(const Op&) const = default;

 private:
  /// Slots lie further apart than the pieces that they encode.
  [[nodiscard]] Range part(const Range& range, std::int64_t k, bool slots) const {
    const std::int64_t overhead = slots ? encoded_overhead_bytes : 0;
    return range.sub(piece_offset(k) + k * overhead, piece_size(k) + overhead);
  }
};

/// How long a range must be to hold `bytes` bytes encoded in pieces as `cut` says.
inline std::int64_t encoded_bytes(std::int64_t bytes, Cut cut) {
  return bytes + pieces_of(bytes, cut) * encoded_overhead_bytes;
}
/// How messages of data encoded with `cut` are cut: one slot per piece.
inline Cut encoded_cut(Cut cut) {
  return {cut.piece_bytes <= 0 ? 0 : cut.piece_bytes + encoded_overhead_bytes, cut.window};
}

using Deps = std::initializer_list<Dep>;

/// One rank's part of a collective: a DAG of operations on byte ranges. Operations are added in an order in which
/// predecessors come first, so that the list is a topological order.
class Schedule {
 public:
  OpId send(int to_rank, Range from, Deps deps = {}, Cut cut = {}, int tag = 0);
  OpId recv(int from_rank, Range to, Deps deps = {}, Cut cut = {}, int tag = 0);
  OpId copy(Range from, Range to, Deps deps = {}, Cut cut = {});
  OpId reduce(Range from, Range to, Deps deps = {}, Cut cut = {});
  /// One message to all members of the group but this rank.
  OpId multicast(int group, Range from, Deps deps = {}, Cut cut = {}, int tag = 0);
  OpId recv_multicast(int from_rank, int group, Range to, Deps deps = {}, Cut cut = {}, int tag = 0);
  /// `to` must be encoded_bytes(from.bytes, cut) long.
  OpId encode(Range from, Range to, Deps deps = {}, Cut cut = {});
  /// `from` must be encoded_bytes(to.bytes, cut) long.
  OpId decode(Range from, Range to, Deps deps = {}, Cut cut = {});
  /// Makes the operation added last, a message, one of encoded data: its range holds slots and its cut is an
  /// encoded_cut().
  void carries_encoded() { ops_.back().encoded = true; }
  /// A zero-byte message: permission to go on.
  OpId send_token(int to_rank, Deps deps = {}, int tag = 0) { return send(to_rank, {}, deps, {}, tag); }
  OpId recv_token(int from_rank, Deps deps = {}, int tag = 0) { return recv(from_rank, {}, deps, {}, tag); }
  /// Adds a predecessor to the operation added last.
  void after(Dep dep);
  /// The general form of the above, for builders that gather dependencies in a loop and for readers of files.
  OpId add(Op op, std::span<const Dep> deps);

  /// A new range of scratch memory of this many bytes.
  Range scratch(std::int64_t bytes);
  /// The index of the group of these ranks, which is made if it does not exist. All members' schedules must name the
  /// same members.
  int group(std::vector<std::int32_t> members);
  [[nodiscard]] const std::vector<std::vector<std::int32_t>>& groups() const { return groups_; }

  [[nodiscard]] std::span<const Op> ops() const { return ops_; }
  [[nodiscard]] std::span<const Dep> all_deps() const { return deps_; }
  [[nodiscard]] std::span<const Dep> deps(const Op& op) const {
    return std::span(deps_).subspan(op.deps_begin, op.deps_end - op.deps_begin);
  }
  [[nodiscard]] std::int64_t scratch_bytes() const { return scratch_bytes_; }
  void set_scratch_bytes(std::int64_t bytes) { scratch_bytes_ = bytes; }

  /// A hash of the whole schedule, the same on every machine.
  [[nodiscard]] std::uint64_t hash() const;
  /// One line per operation, for people.
  [[nodiscard]] std::string to_string() const;
  bool operator==(const Schedule&) const = default;

 private:
  void check(const Op& op) const;

  std::vector<Op> ops_;
  std::vector<Dep> deps_;
  std::vector<std::vector<std::int32_t>> groups_;  ///< members in ascending order
  std::int64_t scratch_bytes_ = 0;
};

std::string_view name(OpKind kind);
std::string_view name(Space space);

}  // namespace antiphon
