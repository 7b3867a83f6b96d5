// SPDX-License-Identifier: Apache-2.0
#include "patterns/stream.hpp"

#include "patterns/cut.hpp"

namespace antiphon {

namespace {

/// Both sides know the message's length, and so how many segments wait for a grant: all but the first `window`.
std::int64_t grants(const Stream& stream, std::int64_t bytes) {
  return stream.granted ? pieces_of(bytes, stream.cut) - stream.cut.window : 0;
}

Cut grant_cut(const Stream& stream) { return {1, stream.cut.window}; }

}  // namespace

OpId Stream::send(Schedule& s, int to_rank, const Range& from, Dep ready) const {
  const std::int64_t count = grants(*this, from.bytes);
  OpId granted_op = no_op;
  if (count > 0) granted_op = s.recv(to_rank, s.scratch(count), {}, grant_cut(*this), tag + 1);
  return s.send(to_rank, from, {ready, paced(granted_op, cut.window)}, cut, tag);
}

OpId Stream::recv(Schedule& s, int from_rank, const Range& to, Dep free) const {
  const OpId received = s.recv(from_rank, to, {free}, cut, tag);
  const std::int64_t count = grants(*this, to.bytes);
  if (count > 0) s.send(from_rank, s.scratch(count), {pipelined(received)}, grant_cut(*this), tag + 1);
  return received;
}

Stream stream_of(const Problem& p) { return {cut_of(p), p.parameter("granted") != 0}; }

}  // namespace antiphon
