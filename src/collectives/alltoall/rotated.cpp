// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"

namespace antiphon::alltoall_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", 2, 1, 1024, "pieces a rank may be ahead of what it has received"},
};

/// Phase i = 1…P−1: send to rank+i, receive from rank−i (paper 1, Figure 2), in lock-step pieces: piece k leaves when piece
/// k−window has come in, across phases too. So at most `window` pieces are under way to any port, which is what keeps a
/// switch's buffer from overflowing. Cost: (P−1)·m over one link, plus a latency per window.
Schedule build(const Problem& p) {
  Schedule s;
  const auto window = static_cast<std::int32_t>(p.parameter("window"));
  const Cut cut{p.piece_parameter("piece_bytes"), window};
  s.copy(p.input_block(p.rank), p.output_block(p.rank));
  OpId sent = no_op;
  OpId received = no_op;
  for (int phase = 1; phase < p.size; ++phase) {
    const int to = (p.rank + phase) % p.size;
    const int from = (p.rank - phase + p.size) % p.size;
    const OpId previous = received;
    received = s.recv(from, p.output_block(from), {previous}, cut);
    sent = s.send(to, p.input_block(to), {previous, sent, paced(received, window)}, cut);
  }
  return s;
}

}  // namespace

extern const Algorithm rotated{Collective::alltoall, "rotated",
                               "rotated pairwise phases in lock-step pieces; contention-free for long blocks", parameters,
                               nullptr, build};

}  // namespace antiphon::alltoall_algorithms
