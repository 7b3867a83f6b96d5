// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/supports.hpp"

namespace antiphon::alltoall_by_hypercube {

namespace {

/// In round i partners 2^i ranks away exchange all blocks that still have to cross to the other's side: log2 P messages
/// of half of all blocks each, as Bruck's algorithm, but between pairs, and only for powers of two (recursive doubling
/// in MVAPICH 0.9.2). Cost (pLogP): log2 P · (L + g(m·P/2)). Short blocks.
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
    // The blocks that cross are runs of `distance` places.
    const std::int64_t run_bytes = distance * p.bytes;
    const auto slot = [&](const Range& range, int run) { return range.sub(run * run_bytes, run_bytes); };
    const auto places_of = [&](int run) { return places.sub((2 * run + 1) * run_bytes, run_bytes); };
    const int runs = p.size / (2 * distance);
    std::vector<OpId> packed;
    for (int run = 0; run < runs; ++run) {
      packed.push_back(s.copy(places_of(run), slot(out, run)));
      OpId last = no_op;
      for (int j = (2 * run + 1) * distance; j < (2 * run + 2) * distance; ++j) {
        if (at[static_cast<std::size_t>(j)] != last) s.after(last = at[static_cast<std::size_t>(j)]);
      }
    }
    s.send(p.rank ^ distance, out);
    for (const OpId op : packed) s.after(op);
    const OpId received = s.recv(p.rank ^ distance, in);
    for (int run = 0; run < runs; ++run) {
      const OpId unpacked = s.copy(slot(in, run), places_of(run), {received, packed[static_cast<std::size_t>(run)]});
      for (int j = (2 * run + 1) * distance; j < (2 * run + 2) * distance; ++j)
        at[static_cast<std::size_t>(j)] = unpacked;
    }
  }
  for (int j = 0; j < p.size; ++j) s.copy(place(j), p.output_block(p.rank ^ j), {at[static_cast<std::size_t>(j)]});
  return s;
}

}  // namespace

extern const Algorithm alltoall{
    .collective = Collective::alltoall,
    .name = "hypercube",
    .summary = "partners exchange all that has to cross; powers of two, short blocks",
    .supports = is_power_of_two,
    .build = build,
};

}  // namespace antiphon::alltoall_by_hypercube
