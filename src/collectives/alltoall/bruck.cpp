// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/algorithm.hpp"

namespace antiphon::alltoall_by_bruck {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 2, 16, "blocks travel in digits of this base; radix−1 messages a round"},
};

/// Blocks in scratch, by the distance they have to go: place j holds the one for the rank j further on.
class Bruck {
 public:
  Bruck(Schedule& s, const Problem& p) : s_(s), p_(p), places_(s.scratch(p.bytes * p.size)) {
    // Place j holds the input's block rank + j: a rotation, two copies.
    const int before_wrap = p.size - p.rank;
    arrived_.push_back(s.copy({Space::input, p.rank * p.bytes, before_wrap * p.bytes}, blocks(0, before_wrap)));
    arrived_.push_back(s.copy({Space::input, 0, p.rank * p.bytes}, blocks(before_wrap, p.rank)));
  }

  /// All blocks whose place has this digit at this position (distance = radix^position) go `digit·distance` ranks on.
  void move(long long distance, int radix, int digit) {
    const int shift = static_cast<int>(digit * distance);
    const auto runs = runs_with(distance, radix, digit);
    std::int64_t count = 0;
    for (const auto& [first, length] : runs) count += length;
    const Range out = s_.scratch(count * p_.bytes);
    const Range in = s_.scratch(count * p_.bytes);
    std::vector<Dep> packed;
    transfer(runs, out, {}, true, packed);
    const OpId received = s_.recv((p_.rank - shift + p_.size) % p_.size, in);
    s_.send((p_.rank + shift) % p_.size, out);
    for (const Dep& dep : packed) s_.after(dep);
    // Unpacking writes what packing read, so it waits for it. A copy of nothing joins many copies, since the number of
    // dependencies would otherwise be the square of theirs.
    if (packed.size() > 8) {
      const OpId all = s_.copy({}, {});
      for (const Dep& dep : packed) s_.after(dep);
      packed = {all};
    }
    packed.push_back(received);
    std::vector<Dep> unpacked;
    transfer(runs, in, packed, false, unpacked);
    for (const Dep& dep : unpacked) arriving_.push_back(dep.op);
  }

  /// Lets the next round pack what this one has brought. A copy of nothing joins many operations into one.
  void end_round() {
    arrived_.insert(arrived_.end(), arriving_.begin(), arriving_.end());
    arriving_.clear();
    const OpId all = s_.copy({}, {});
    for (const OpId op : arrived_) s_.after(op);
    arrived_ = {all};
  }

  /// Copies to the output: place j has come from rank − j.
  void finish() {
    for (int j = 0; j < p_.size; ++j) {
      s_.copy(blocks(j, 1), p_.output_block((p_.rank - j + p_.size) % p_.size));
      for (const OpId op : arrived_) s_.after(op);
    }
  }

 private:
  struct Run {
    int first, length;
  };

  [[nodiscard]] Range blocks(int first, int count) const { return places_.sub(first * p_.bytes, count * p_.bytes); }

  [[nodiscard]] std::vector<Run> runs_with(long long distance, int radix, int digit) const {
    std::vector<Run> runs;
    for (long long first = digit * distance; first < p_.size; first += distance * radix) {
      runs.push_back({static_cast<int>(first), static_cast<int>(std::min(distance, p_.size - first))});
    }
    return runs;
  }

  void transfer(const std::vector<Run>& runs, const Range& packed, const std::vector<Dep>& after, bool pack,
                std::vector<Dep>& copies) {
    std::int64_t at = 0;
    for (const auto& [first, length] : runs) {
      const Range there = packed.sub(at, length * p_.bytes);
      const OpId copy = pack ? s_.copy(blocks(first, length), there) : s_.copy(there, blocks(first, length));
      if (pack) {
        for (const OpId op : arrived_) s_.after(op);
      } else {
        for (const Dep& dep : after) s_.after(dep);
      }
      copies.push_back(copy);
      at += length * p_.bytes;
    }
  }

  Schedule& s_;
  const Problem& p_;
  Range places_;
  std::vector<OpId> arrived_, arriving_;
};

/// A block for the rank j further on travels the digits of j in base `radix`, with all others that have the same digit
/// there: ⌈log_radix P⌉ rounds of radix−1 messages instead of P−1 messages, for log_radix P times the bytes. Cost
/// (pLogP): log_radix P · (L + (radix−1)·g(m·P/radix)). Good for short blocks. J. Bruck et al., 1997.
Schedule build(const Problem& p) {
  Schedule s;
  Bruck bruck(s, p);
  const auto radix = static_cast<int>(p.parameter("radix"));
  for (long long distance = 1; distance < p.size; distance *= radix) {
    for (int digit = 1; digit < radix && digit * distance < p.size; ++digit) bruck.move(distance, radix, digit);
    bruck.end_round();
  }
  bruck.finish();
  return s;
}

}  // namespace

extern const Algorithm alltoall{
    .collective = Collective::alltoall,
    .name = "bruck",
    .summary = "blocks travel together, digit by digit; short blocks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::alltoall_by_bruck
