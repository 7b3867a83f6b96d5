// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/phases.hpp"
#include "patterns/window.hpp"

namespace antiphon::allgather_by_windowed {

namespace {

constexpr Parameter parameters[] = {
    {"window", Role::ahead, 4, 1, 1 << 20, "messages in each direction under way at a time"},
    {"piece_bytes", Role::piece, 0, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
};

/// Each rank sends its block to all others, and receives theirs, `window` of each at a time: rank+i and rank−i in the
/// order of i. Cost (pLogP): L + (P−1) g(m), as many bytes through each port as round a ring, but over as many
/// connections as the window allows. For one switch; links between switches are crossed many times.
Schedule build(const Problem& p) {
  Schedule s;
  s.copy(p.whole_input(), p.output_block(p.rank));
  WindowedMessages messages(s, p.parameter("window"), {p.piece_parameter("piece_bytes"), 0});
  for (int phase = 1; phase < p.size; ++phase) {
    const auto [to, from] = rotated_partners(p.rank, p.size, phase);
    messages.recv(from, p.output_block(from));
    messages.send(to, p.whole_input());
  }
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "windowed",
    .summary = "blocks to and from a window of ranks at a time; long blocks where one connection does not fill a port",
    .parameters = parameters,
    .build = build,
    .any_order = true,
};

extern const Algorithm allgatherv{
    .collective = Collective::allgatherv,
    .name = "windowed",
    .summary = "blocks to and from a window of ranks at a time; long blocks where one connection does not fill a port",
    .parameters = parameters,
    .build = build,
    .any_order = true,
};

}  // namespace antiphon::allgather_by_windowed
