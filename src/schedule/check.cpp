// SPDX-License-Identifier: Apache-2.0
// Compares an algorithm with a plain reference, on random data.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "antiphon/index.hpp"
#include "antiphon/verify.hpp"

namespace antiphon {

namespace {

using Bytes = std::vector<std::byte>;

std::vector<std::int64_t> random_sizes(const Case& c, std::mt19937_64& random, int n) {
  std::vector<std::int64_t> sizes(at(n));
  for (auto& size : sizes) {
    const std::int64_t elements = c.bytes / c.element_bytes;
    const bool zero = random() % 4 == 0;
    size = zero || elements == 0
               ? 0
               : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * elements + 1)) * c.element_bytes;
  }
  return sizes;
}

/// Places blocks in a random order with random gaps between them, as displacements allow.
std::vector<std::int64_t> random_offsets(const std::vector<std::int64_t>& sizes, std::mt19937_64& random) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::int64_t> offsets(sizes.size());
  std::int64_t end = 0;
  for (const std::size_t i : order) {
    end += static_cast<std::int64_t>(random() % 3) * 8;
    offsets[i] = end;
    end += sizes[i];
  }
  return offsets;
}

std::vector<std::int64_t> prefix_sums(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> offsets(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::int64_t{0});
  return offsets;
}

void set_irregular(std::vector<Problem>& problems, const Case& c, Knowledge knowledge) {
  std::mt19937_64 random(c.seed);
  const auto sizes = random_sizes(c, random, c.size);
  const auto offsets = c.collective == Collective::reduce_scatter ? prefix_sums(sizes) : random_offsets(sizes, random);
  const bool scatterv = c.collective == Collective::scatterv;
  for (Problem& p : problems) {
    p.bytes = sizes[at(p.rank)];
    if (has_root(c.collective) && p.rank != c.root && knowledge == Knowledge::local) continue;
    (scatterv ? p.send_bytes : p.recv_bytes) = sizes;
    (scatterv ? p.send_offsets : p.recv_offsets) = offsets;
  }
}

void set_alltoallv(std::vector<Problem>& problems, const Case& c, Knowledge knowledge) {
  std::mt19937_64 random(c.seed);
  auto all = std::make_shared<std::vector<std::int64_t>>();
  for (Problem& p : problems) {
    p.send_bytes = random_sizes(c, random, c.size);
    p.send_offsets = random_offsets(p.send_bytes, random);
    p.bytes = 0;
    all->insert(all->end(), p.send_bytes.begin(), p.send_bytes.end());
  }
  for (Problem& p : problems) {
    if (knowledge == Knowledge::all_counts) p.all_counts = all;
    for (const Problem& from : problems) p.recv_bytes.push_back(from.send_bytes[at(p.rank)]);
    p.recv_offsets = random_offsets(p.recv_bytes, random);
  }
}

std::int64_t extent(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& offsets) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) end = std::max(end, offsets[i] + sizes[i]);
  return end;
}

std::int64_t input_bytes(const Problem& p) {
  const bool root = p.rank == p.root;
  switch (p.collective) {
    case Collective::barrier:
    case Collective::bcast: return 0;
    case Collective::scatter: return root ? p.bytes * p.size : 0;
    case Collective::scatterv: return root ? extent(p.send_bytes, p.send_offsets) : 0;
    case Collective::alltoall:
    case Collective::reduce_scatter_block: return p.bytes * p.size;
    case Collective::alltoallv: return extent(p.send_bytes, p.send_offsets);
    case Collective::reduce_scatter: return extent(p.recv_bytes, p.recv_offsets);
    default: return p.bytes;
  }
}

std::int64_t output_bytes(const Problem& p) {
  const bool root = p.rank == p.root;
  switch (p.collective) {
    case Collective::barrier: return 0;
    case Collective::gather: return root ? p.bytes * p.size : 0;
    case Collective::gatherv: return root ? extent(p.recv_bytes, p.recv_offsets) : 0;
    case Collective::reduce: return root ? p.bytes : 0;
    case Collective::allgather:
    case Collective::alltoall: return p.bytes * p.size;
    case Collective::allgatherv:
    case Collective::alltoallv: return extent(p.recv_bytes, p.recv_offsets);
    default: return p.bytes;
  }
}

/// Associative operations that show a wrong order or a missing operand. Affine maps do not commute, sums of bytes do.
void combine(bool commutative, const std::byte* in, std::byte* inout, std::int64_t bytes) {
  if (commutative) {
    for (std::int64_t i = 0; i < bytes; ++i)
      inout[i] = static_cast<std::byte>(static_cast<unsigned>(in[i]) + static_cast<unsigned>(inout[i]));
    return;
  }
  for (std::int64_t i = 0; i + 8 <= bytes; i += 8) {
    std::uint32_t left[2];
    std::uint32_t right[2];
    std::memcpy(left, in + i, 8);
    std::memcpy(right, inout + i, 8);
    const std::uint32_t result[2]{left[0] * right[0], left[0] * right[1] + left[1]};
    std::memcpy(inout + i, result, 8);
  }
}

Bytes slice(const Bytes& from, std::int64_t offset, std::int64_t bytes) {
  return {from.begin() + offset, from.begin() + offset + bytes};
}

Bytes slice(const Bytes& from, const Range& range) { return slice(from, range.offset_bytes, range.bytes); }

void put(Bytes& to, std::int64_t offset, const Bytes& what) {
  std::copy(what.begin(), what.end(), to.begin() + offset);
}

class Reference {
 public:
  Reference(const std::vector<Problem>& problems, const std::vector<Bytes>& inputs, const std::vector<Bytes>& outputs)
      : problems_(problems), inputs_(inputs), outputs_(outputs) {}

  /// Fills in what rank r's output must hold in the end, given what it held in the beginning.
  [[nodiscard]] Bytes expected(std::size_t r) const {
    const Problem& p = problems_[r];
    const auto root = at(p.root);
    Bytes out = outputs_[r];
    switch (p.collective) {
      case Collective::barrier: break;
      case Collective::bcast: out = outputs_[root]; break;
      case Collective::scatter:
      case Collective::scatterv: out = slice(inputs_[root], problems_[root].input_block(p.rank)); break;
      case Collective::gather:
      case Collective::gatherv:
        if (r == root) gather_into(out, p);
        break;
      case Collective::allgather:
      case Collective::allgatherv: gather_into(out, p); break;
      case Collective::alltoall:
      case Collective::alltoallv:
        for (std::size_t from = 0; from < problems_.size(); ++from) {
          put(out, p.output_block(static_cast<int>(from)).offset_bytes,
              slice(inputs_[from], problems_[from].input_block(p.rank)));
        }
        break;
      case Collective::reduce:
        if (r == root) out = fold(0, problems_.size(), {Space::input, 0, p.bytes});
        break;
      case Collective::allreduce: out = fold(0, problems_.size(), {Space::input, 0, p.bytes}); break;
      case Collective::scan: out = fold(0, r + 1, {Space::input, 0, p.bytes}); break;
      case Collective::exscan:
        if (r > 0) out = fold(0, r, {Space::input, 0, p.bytes});
        break;
      case Collective::reduce_scatter:
      case Collective::reduce_scatter_block: out = fold(0, problems_.size(), p.input_block(p.rank)); break;
    }
    return out;
  }

 private:
  void gather_into(Bytes& out, const Problem& p) const {
    for (std::size_t from = 0; from < problems_.size(); ++from) {
      put(out, p.output_block(static_cast<int>(from)).offset_bytes, slice(inputs_[from], 0, problems_[from].bytes));
    }
  }

  [[nodiscard]] Bytes fold(std::size_t begin, std::size_t end, const Range& range) const {
    Bytes acc = slice(inputs_[end - 1], range);
    for (std::size_t r = end - 1; r-- > begin;) {
      combine(problems_[0].commutative, inputs_[r].data() + range.offset_bytes, acc.data(), range.bytes);
    }
    return acc;
  }

  const std::vector<Problem>& problems_;
  const std::vector<Bytes>& inputs_;
  const std::vector<Bytes>& outputs_;
};

Bytes random_bytes(std::int64_t count, std::mt19937_64& random) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t drawn = random();
    std::memcpy(&bytes[i], &drawn, std::min(sizeof drawn, bytes.size() - i));
  }
  return bytes;
}

/// All ranks' memory.
struct Contents {
  std::vector<Bytes> inputs, outputs;
};

/// Fills the memory with random bytes, as many as each rank may touch: only the root of a rooted collective has the
/// large side.
Contents random_contents(const std::vector<Problem>& problems, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Contents contents;
  for (const Problem& p : problems) {
    Bytes& input = contents.inputs.emplace_back(random_bytes(input_bytes(p), random));
    Bytes& output = contents.outputs.emplace_back(random_bytes(output_bytes(p), random));
    const Alias alias = alias_of(p);
    if (alias.offset_bytes < 0) continue;
    if (alias.output_in_input) output = slice(input, alias.offset_bytes, output_bytes(p));
    else put(output, alias.offset_bytes, input);
  }
  return contents;
}

/// Makes a rank's memory; in place, one side lies within the other.
Memory memory_of(const Problem& p, Bytes& input, Bytes& output) {
  Memory memory{input.data(), input_bytes(p), output.data(), output_bytes(p)};
  const Alias alias = alias_of(p);
  if (alias.offset_bytes < 0) return memory;
  if (alias.output_in_input) memory.output = memory.input + alias.offset_bytes;
  else memory.input = memory.output + alias.offset_bytes;
  return memory;
}

std::string describe(const Algorithm& a, const Case& c) {
  std::string text = std::string(name(a.collective)) + ":" + std::string(a.name) + " size " + std::to_string(c.size) +
                     " root " + std::to_string(c.root) + " bytes " + std::to_string(c.bytes) + " element " +
                     std::to_string(c.element_bytes) + (c.in_place ? " in place" : "") +
                     (c.commutative ? "" : " ordered") + " seed " + std::to_string(c.seed);
  for (const auto& p : c.parameters) text += ' ' + p.name + '=' + std::to_string(p.value);
  return text + ": ";
}

}  // namespace

std::vector<Problem> problems_of(const Case& c, Knowledge knowledge) {
  std::vector<Problem> problems;
  for (int rank = 0; rank < c.size; ++rank) {
    Problem p;
    p.collective = c.collective;
    p.rank = rank;
    p.size = c.size;
    p.root = c.root;
    p.bytes = c.bytes;
    p.element_bytes = c.element_bytes;
    p.commutative = c.commutative;
    p.in_place = c.in_place;
    p.parameters = c.parameters;
    p.order = c.order;
    p.node_sizes = c.node_sizes;
    p.switch_sizes = c.switch_sizes;
    problems.push_back(std::move(p));
  }
  if (c.collective == Collective::alltoallv) set_alltoallv(problems, c, knowledge);
  else if (is_irregular(c.collective)) set_irregular(problems, c, knowledge);
  return problems;
}

namespace {

/// A case with all its parameters, and every rank's problem: the reference knows all sizes; each builder gets what its
/// own rank would know, which is less for irregular collectives alone.
struct CallOfAll {
  CallOfAll(const Algorithm& a, const Case& given) : c(given) {
    c.parameters = resolve_parameters(a, given.parameters);
    full = problems_of(c, Knowledge::all_counts);
    if (is_irregular(c.collective) && a.knowledge != Knowledge::all_counts) own = problems_of(c, a.knowledge);
  }
  [[nodiscard]] const std::vector<Problem>& problems() const { return own.empty() ? full : own; }

  Case c;
  std::vector<Problem> full, own;
};

/// Runs the call, and compares. Returns what is wrong, or nothing.
std::optional<std::string> outcome_of(const Algorithm& algorithm, const CallOfAll& call) {
  const Case& c = call.c;
  const std::vector<Problem>& full = call.full;
  const Contents before = random_contents(full, c.seed + 17);
  const Reference reference(full, before.inputs, before.outputs);

  Contents after = before;
  std::vector<Memory> memories;
  std::vector<Schedule> schedules;
  for (std::size_t r = 0; r < full.size(); ++r) {
    memories.push_back(memory_of(full[r], after.inputs[r], after.outputs[r]));
    schedules.push_back(build_schedule(algorithm, call.problems()[r]));
  }
  const auto reduction = [&](const std::byte* in, std::byte* inout, std::int64_t bytes) {
    combine(c.commutative, in, inout, bytes);
  };
  if (auto wrong = run_in_process(schedules, memories, reduction, c.seed)) return describe(algorithm, c) + *wrong;
  for (std::size_t r = 0; r < full.size(); ++r) {
    const Bytes expected = reference.expected(r);
    if (!std::equal(expected.begin(), expected.end(), memories[r].output)) {
      return describe(algorithm, c) + "rank " + std::to_string(r) + " has a wrong result";
    }
    if (!c.in_place && after.inputs[r] != before.inputs[r])
      return describe(algorithm, c) + "rank " + std::to_string(r) + " changed its input";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check(const Algorithm& algorithm, const Case& c) {
  return outcome_of(algorithm, CallOfAll(algorithm, c));
}

Checked check_supported(const Algorithm& algorithm, const Case& c) {
  const CallOfAll call(algorithm, c);
  const auto able = std::ranges::count_if(call.problems(), [&](const Problem& p) { return supports(algorithm, p); });
  if (able == 0) return {};
  if (able < c.size) return {true, describe(algorithm, call.c) + "some ranks do not support it"};
  return {true, outcome_of(algorithm, call)};
}

}  // namespace antiphon
