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

/// The closed set of operations. A schedule has no callbacks, so whatever is executed can be costed, drawn and compared too.
enum class OpKind : std::uint8_t {
  send,    ///< read `from`, message to `peer`
  recv,    ///< message from `peer`, write `to`
  copy,    ///< to = from (nothing happens when both are the same memory)
  reduce,  ///< to = from OP to; `from` is the left operand (matters for operations that do not commute)
};

using OpId = std::uint32_t;
/// An absent predecessor: allowed wherever a dependency is, and ignored. Makes first steps of a loop read like the others.
inline constexpr OpId no_op = std::numeric_limits<OpId>::max();

/// What an operation waits for: another operation of the same rank, as a whole or piece by piece.
struct Dep {
  static constexpr std::int32_t whole = std::numeric_limits<std::int32_t>::min();
  OpId op = no_op;
  /// Piece k waits for pieces 0…k−lag of `op`. 0: a pipeline. w > 0: at most w pieces ahead of `op` (pacing). `whole`: all of it.
  std::int32_t lag = whole;

  Dep(OpId id) : op(id) {}  // NOLINT(google-explicit-constructor): {a, b} reads as "after a and b"
  Dep(OpId id, std::int32_t piece_lag) : op(id), lag(piece_lag) {}
  bool operator==(const Dep&) const = default;
};

/// Piece by piece after `op`.
inline Dep pipelined(OpId op) { return {op, 0}; }
/// Never more than `window` pieces ahead of `op`.
inline Dep paced(OpId op, std::int32_t window) { return {op, window}; }

/// How an operation is cut. The pieces of an operation are posted in order; a message's sender and receiver must cut alike.
struct Cut {
  std::int64_t piece_bytes = 0;  ///< 0: one piece
  std::int32_t window = 0;       ///< pieces posted and not yet complete at any time; 0: all
  bool operator==(const Cut&) const = default;
};

struct Op {
  OpKind kind = OpKind::copy;
  std::int32_t peer = -1;  ///< send, recv: rank of the other side
  std::int32_t tag = 0;    ///< send, recv: messages between two ranks match in posting order within a tag
  Range from;              ///< send, copy, reduce
  Range to;                ///< recv, copy, reduce
  Cut cut;
  std::uint32_t deps_begin = 0;  ///< into Schedule::all_deps()
  std::uint32_t deps_end = 0;

  [[nodiscard]] std::int64_t bytes() const { return kind == OpKind::recv ? to.bytes : from.bytes; }
  /// Number of pieces; a zero-byte operation (a token) has one.
  [[nodiscard]] std::int64_t pieces() const {
    return cut.piece_bytes <= 0 || bytes() <= cut.piece_bytes ? 1 : (bytes() + cut.piece_bytes - 1) / cut.piece_bytes;
  }
  /// The bytes of piece k, relative to the range's start.
  [[nodiscard]] std::int64_t piece_offset(std::int64_t k) const { return k * cut.piece_bytes; }
  [[nodiscard]] std::int64_t piece_size(std::int64_t k) const {
    if (pieces() == 1) return bytes();
    const std::int64_t left = bytes() - piece_offset(k);
    return left < cut.piece_bytes ? left : cut.piece_bytes;
  }
  bool operator==(const Op&) const = default;
};

using Deps = std::initializer_list<Dep>;

/// One rank's part of a collective: a DAG of operations on byte ranges. Operations are added in an order in which
/// predecessors come first, so that the list is a topological order.
class Schedule {
 public:
  OpId send(int to_rank, Range from, Deps deps = {}, Cut cut = {}, int tag = 0);
  OpId recv(int from_rank, Range to, Deps deps = {}, Cut cut = {}, int tag = 0);
  OpId copy(Range from, Range to, Deps deps = {}, Cut cut = {});
  OpId reduce(Range from, Range to, Deps deps = {}, Cut cut = {});
  /// A zero-byte message: permission to go on.
  OpId send_token(int to_rank, Deps deps = {}, int tag = 0) { return send(to_rank, {}, deps, {}, tag); }
  OpId recv_token(int from_rank, Deps deps = {}, int tag = 0) { return recv(from_rank, {}, deps, {}, tag); }
  /// One more predecessor for the operation added last.
  void after(Dep dep);
  /// General form of the above, for builders that gather dependencies in a loop and for readers of files.
  OpId add(Op op, std::span<const Dep> deps);

  /// A new range of scratch memory of this many bytes.
  Range scratch(std::int64_t bytes);

  [[nodiscard]] std::span<const Op> ops() const { return ops_; }
  [[nodiscard]] std::span<const Dep> all_deps() const { return deps_; }
  [[nodiscard]] std::span<const Dep> deps(const Op& op) const {
    return std::span(deps_).subspan(op.deps_begin, op.deps_end - op.deps_begin);
  }
  [[nodiscard]] std::int64_t scratch_bytes() const { return scratch_bytes_; }
  void set_scratch_bytes(std::int64_t bytes) { scratch_bytes_ = bytes; }

  /// A hash of everything in it, the same on every machine.
  [[nodiscard]] std::uint64_t hash() const;
  /// One line an operation, for people.
  [[nodiscard]] std::string to_string() const;
  bool operator==(const Schedule&) const = default;

 private:
  std::vector<Op> ops_;
  std::vector<Dep> deps_;
  std::int64_t scratch_bytes_ = 0;
};

std::string_view name(OpKind kind);
std::string_view name(Space space);

}  // namespace antiphon
