// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "antiphon/algorithm.hpp"

namespace antiphon::alltoall_algorithms {

namespace {

/// In round i partners 2^i ranks away exchange all blocks that still have to cross to the other's side: log2 P messages of half
/// of all blocks each, as Bruck's algorithm, but between pairs, and only for powers of two (recursive doubling in MVAPICH 0.9.2).
/// Cost (pLogP): log2 P · (L + g(m·P/2)). Short blocks.
Schedule build(const Problem& p) {
  Schedule s;
  // Place j: the block that still has to go j away (by exclusive or); at the end, the one that came from there.
  const Range places = s.scratch(p.bytes * p.size);
  const auto place = [&](int j) { return places.sub(j * p.bytes, p.bytes); };
  std::vector<OpId> at(static_cast<std::size_t>(p.size));
  for (int j = 0; j < p.size; ++j) at[static_cast<std::size_t>(j)] = s.copy(p.input_block(p.rank ^ j), place(j));
  for (int distance = 1; distance < p.size; distance *= 2) {
    const Range out = s.scratch(p.size / 2 * p.bytes);
    const Range in = s.scratch(p.size / 2 * p.bytes);
    std::vector<int> crossing;
    for (int j = 0; j < p.size; ++j) {
      if ((j & distance) != 0) crossing.push_back(j);
    }
    const auto slot = [&](const Range& range, std::size_t i) { return range.sub(static_cast<std::int64_t>(i) * p.bytes, p.bytes); };
    std::vector<OpId> packed;
    for (std::size_t i = 0; i < crossing.size(); ++i) {
      packed.push_back(s.copy(place(crossing[i]), slot(out, i), {at[static_cast<std::size_t>(crossing[i])]}));
    }
    s.send(p.rank ^ distance, out);
    for (const OpId op : packed) s.after(op);
    const OpId received = s.recv(p.rank ^ distance, in);
    for (std::size_t i = 0; i < crossing.size(); ++i) {
      at[static_cast<std::size_t>(crossing[i])] = s.copy(slot(in, i), place(crossing[i]), {received, packed[i]});
    }
  }
  for (int j = 0; j < p.size; ++j) s.copy(place(j), p.output_block(p.rank ^ j), {at[static_cast<std::size_t>(j)]});
  return s;
}

bool supports_problem(const Problem& p) { return std::has_single_bit(static_cast<unsigned>(p.size)); }

}  // namespace

extern const Algorithm hypercube{Collective::alltoall, "hypercube", "partners exchange all that has to cross; powers of two, short blocks", {},
                              supports_problem, build};

}  // namespace antiphon::alltoall_algorithms
