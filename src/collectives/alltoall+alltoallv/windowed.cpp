// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/phases.hpp"
#include "patterns/window.hpp"

namespace antiphon::alltoall_by_windowed {

namespace {

constexpr Parameter parameters[] = {
    {"window", Role::ahead, 32, 1, 1 << 20, "messages in each direction under way at a time"},
    {"piece_bytes", Role::piece, 0, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
};

/// Posts receives from rank−i and sends to rank+i, `window` of each at a time, the next when the oldest is complete
/// (the scattered algorithm of MPICH). Empty blocks cost nothing. Cost for short blocks: one latency and (P−1)·m, or
/// the bytes of the busiest rank. Long blocks from several ranks at a time overflow a switch's port.
Schedule build(const Problem& p) {
  Schedule s;
  s.copy(p.input_block(p.rank), p.output_block(p.rank));
  WindowedMessages messages(s, p.parameter("window"), {p.piece_parameter("piece_bytes"), 0});
  for (int phase = 1; phase < p.size; ++phase) {
    const auto [to, from] = rotated_partners(p.rank, p.size, phase);
    messages.recv(from, p.output_block(from));
    messages.send(to, p.input_block(to));
  }
  return s;
}

}  // namespace

extern const Algorithm alltoall{
    .collective = Collective::alltoall,
    .name = "windowed",
    .summary = "messages to and from a window of ranks at a time; short and medium blocks",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm alltoallv{
    .collective = Collective::alltoallv,
    .name = "windowed",
    .summary = "messages to and from a window of ranks at a time; short and sparse blocks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::alltoall_by_windowed
