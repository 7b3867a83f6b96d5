// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/gathered.hpp"
#include "patterns/supports.hpp"

namespace antiphon::allgather_by_recursive_doubling {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", Role::ahead, 2, 1, 1024, "pieces ahead of what comes in"},
};

/// In step i, a rank exchanges all that it has with rank XOR 2^i (paper 4's pairwise exchange). Messages are runs of
/// the output. Cost (pLogP): log2 P · L + (P−1) g(m). For powers of two only; `bruck` is as good for any other P.
Schedule build(const Problem& p) {
  Schedule s;
  GatheredBlocks blocks(s, p, cut_of(p, "piece_bytes"));
  std::vector<OpId> have{blocks.own()};
  for (int distance = 1; distance < p.size; distance *= 2) {
    const int partner = p.rank ^ distance;
    const auto received = blocks.recv(partner, {{partner & ~(distance - 1), distance}}, 0);
    blocks.send(partner, {{p.rank & ~(distance - 1), distance}}, have, 0);
    have.insert(have.end(), received.begin(), received.end());
  }
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "recursive_doubling",
    .summary = "pairs exchange all they have; powers of two, short and medium blocks",
    .parameters = parameters,
    .supports = is_power_of_two,
    .build = build,
};

}  // namespace antiphon::allgather_by_recursive_doubling
