// SPDX-License-Identifier: Apache-2.0
// Arguments and results of reductions. All values are such that every order of operations gives the same bits.
#include <algorithm>
#include <type_traits>

#include "script.hpp"

namespace {

/// What is reduced: its elements without gaps, and how two of them become one.
struct Element {
  Layout layout;
  MPI_Op op = MPI_SUM;
  bool has_own_op = false;
  std::function<void(uint64_t seed, unsigned char* to)> draw{};
  std::function<void(unsigned char* left, const unsigned char* right)> fold{};
};

enum Operator { sum, prod, max, min, land, lor, lxor, band, bor, bxor, operators };

template <class T>
T folded(Operator op, T a, T b) {
  switch (op) {
    case sum: return static_cast<T>(a + b);
    case prod: return static_cast<T>(a * b);
    case max: return std::max(a, b);
    case min: return std::min(a, b);
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case land: return a && b;
      case lor: return a || b;
      case lxor: return !a != !b;
      case band: return static_cast<T>(a & b);
      case bor: return static_cast<T>(a | b);
      default: return static_cast<T>(a ^ b);
    }
  }
  return a;
}

template <class T>
T drawn(Operator op, uint64_t seed) {
  if (op == prod) return static_cast<T>(1 + seed % 2);
  if (op == sum || std::is_floating_point_v<T>) return static_cast<T>(seed % 13);
  if (op >= land && op <= lxor) return static_cast<T>(seed % 3 % 2);
  return static_cast<T>(seed >> 11);
}

template <class T>
Element predefined(MPI_Datatype type, Rng& rng) {
  const MPI_Op ops[operators] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                                 MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
  const auto op = static_cast<Operator>(rng.below(std::is_integral_v<T> ? operators : land));
  constexpr long bytes = sizeof(T);
  Element element{.layout = {.type = type, .pieces = {{0, bytes}}, .extent = bytes, .size = bytes}, .op = ops[op]};
  element.draw = [op](uint64_t seed, unsigned char* to) {
    const T value = drawn<T>(op, seed);
    std::memcpy(to, &value, sizeof value);
  };
  element.fold = [op](unsigned char* left, const unsigned char* right) {
    T a, b;
    std::memcpy(&a, left, sizeof a);
    std::memcpy(&b, right, sizeof b);
    a = folded(op, a, b);
    std::memcpy(left, &a, sizeof a);
  };
  return element;
}

/// MINLOC and MAXLOC. Padding between and behind value and index is nobody's.
template <class T>
Element with_index(MPI_Datatype type, Rng& rng) {
  struct Pair {
    T value;
    int index;
  };
  const bool least = rng.chance(50);
  constexpr long value_bytes = sizeof(T), index_at = offsetof(Pair, index);
  Element element{.layout = {.type = type,
                             .pieces = {{0, value_bytes}, {index_at, 4}},
                             .extent = sizeof(Pair),
                             .size = value_bytes + 4},
                  .op = least ? MPI_MINLOC : MPI_MAXLOC};
  element.draw = [](uint64_t seed, unsigned char* to) {
    const T value = static_cast<T>(seed % 7);
    const int index = static_cast<int>(seed / 7 % 1000);
    std::memcpy(to, &value, sizeof value);
    std::memcpy(to + value_bytes, &index, sizeof index);
  };
  element.fold = [least](unsigned char* left, const unsigned char* right) {
    T a, b;
    int i, j;
    std::memcpy(&a, left, sizeof a);
    std::memcpy(&b, right, sizeof b);
    std::memcpy(&i, left + value_bytes, sizeof i);
    std::memcpy(&j, right + value_bytes, sizeof j);
    const bool other = a == b ? j < i : least ? b < a : b > a;
    if (other) std::memcpy(left, right, value_bytes + 4);
  };
  return element;
}

/// Matrices of 2 by 2, whose product depends on the order.
void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* left = static_cast<uint32_t*>(in);
  auto* right = static_cast<uint32_t*>(inout);
  for (int i = 0; i < *count; i++, left += 4, right += 4) {
    const uint32_t product[4] = {left[0] * right[0] + left[1] * right[2], left[0] * right[1] + left[1] * right[3],
                                 left[2] * right[0] + left[3] * right[2], left[2] * right[1] + left[3] * right[3]};
    std::memcpy(right, product, sizeof product);
  }
}

Element matrices() {
  Element element{.layout = {.is_own = true, .pieces = {{0, 16}}, .extent = 16, .size = 16}, .has_own_op = true};
  MPI_Type_contiguous(4, MPI_UINT32_T, &element.layout.type);
  MPI_Type_commit(&element.layout.type);
  MPI_Op_create(multiply, 0, &element.op);
  element.draw = [](uint64_t seed, unsigned char* to) {
    std::memcpy(to, &seed, 8);
    seed = mixed(seed);
    std::memcpy(to + 8, &seed, 8);
  };
  element.fold = [](unsigned char* left, const unsigned char* right) {
    uint32_t a[4], b[4];
    std::memcpy(a, left, sizeof a);
    std::memcpy(b, right, sizeof b);
    int one = 1;
    multiply(a, b, &one, nullptr);
    std::memcpy(left, b, sizeof b);
  };
  return element;
}

struct Sums {
  int number;
  double value;
};

void add_sums(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* from = static_cast<Sums*>(in);
  auto* to = static_cast<Sums*>(inout);
  for (int i = 0; i < *count; i++) {
    to[i].number += from[i].number;
    to[i].value += from[i].value;
  }
}

Element sums() {
  Element element{.layout = {.is_own = true, .pieces = {{0, 4}, {8, 8}}, .extent = 16, .size = 12}, .has_own_op = true};
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, types, &element.layout.type);
  MPI_Type_commit(&element.layout.type);
  MPI_Op_create(add_sums, 1, &element.op);
  element.draw = [](uint64_t seed, unsigned char* to) {
    const int number = static_cast<int>(seed % 1000);
    const double value = static_cast<double>(seed / 1000 % 1000);
    std::memcpy(to, &number, 4);
    std::memcpy(to + 4, &value, 8);
  };
  element.fold = [](unsigned char* left, const unsigned char* right) {
    Sums a{}, b{};
    std::memcpy(&a.number, left, 4);
    std::memcpy(&a.value, left + 4, 8);
    std::memcpy(&b.number, right, 4);
    std::memcpy(&b.value, right + 4, 8);
    a.number += b.number;
    a.value += b.value;
    std::memcpy(left, &a.number, 4);
    std::memcpy(left + 4, &a.value, 8);
  };
  return element;
}

Element draw_element(Rng& rng) {
  switch (rng.below(15)) {
    case 0: return predefined<signed char>(MPI_SIGNED_CHAR, rng);
    case 1: return predefined<short>(MPI_SHORT, rng);
    case 2:
    case 3: return predefined<int>(MPI_INT, rng);
    case 4: return predefined<long>(MPI_LONG, rng);
    case 5: return predefined<uint8_t>(MPI_UINT8_T, rng);
    case 6: return predefined<uint32_t>(MPI_UINT32_T, rng);
    case 7: return predefined<float>(MPI_FLOAT, rng);
    case 8:
    case 9: return predefined<double>(MPI_DOUBLE, rng);
    case 10: return with_index<int>(MPI_2INT, rng);
    case 11: return with_index<double>(MPI_DOUBLE_INT, rng);
    case 12: return with_index<short>(MPI_SHORT_INT, rng);
    case 13: return sums();
    default: return matrices();
  }
}

/// Elements that a rank gives to a reduction.
Bytes given(const Element& element, uint64_t seed, long first, long count) {
  Bytes all(static_cast<size_t>(count * element.layout.size));
  for (long i = 0; i < count; i++) {
    element.draw(mixed(seed + static_cast<uint64_t>(first + i)), &all[static_cast<size_t>(i * element.layout.size)]);
  }
  return all;
}

/// Which elements of which ranks a block holds, reduced.
struct Part {
  int side, first_rank, last_rank;
  long first, count;
};

Content reduced(const Element& element, uint64_t id, const Part& part) {
  return [element, id, part](uint64_t seed) {
    Bytes all;
    for (int rank = part.first_rank; rank <= part.last_rank; rank++) {
      const Bytes more = given(element, hash_of(seed, id, part.side, rank), part.first, part.count);
      if (all.empty()) all = more;
      else
        for (size_t at = 0; at < all.size(); at += static_cast<size_t>(element.layout.size))
          element.fold(&all[at], &more[at]);
    }
    return all;
  };
}

/// How many elements each rank gets of a reduction that is scattered.
std::vector<long> shares_of(const Spec& spec, const Comm& comm) {
  std::vector<long> shares;
  for (int r = 0; r < comm.size; r++) {
    const uint64_t drawn = hash_of(spec.counts_seed, r);
    const bool alike = spec.kind == Kind::reduce_scatter_block || drawn % 100 < 40;
    shares.push_back(alike ? spec.count : static_cast<long>(mixed(drawn) % static_cast<uint64_t>(2 * spec.count + 1)));
  }
  return shares;
}

bool is_scattered(Kind kind) { return kind == Kind::reduce_scatter || kind == Kind::reduce_scatter_block; }

/// Which elements this rank gets of all.
struct Share {
  long first = 0, count = 0, total = 0;
};

Share share_of(Operation& o, const Spec& spec, const Comm& comm) {
  if (!is_scattered(spec.kind)) return {0, spec.count, spec.count};
  const std::vector<long> shares = shares_of(spec, comm);
  Share share;
  for (int r = 0; r < comm.size; r++) {
    const long count = shares[static_cast<size_t>(r)];
    if (r == comm.rank) share.first = share.total, share.count = count;
    share.total += count;
    o.rcounts.add(count);
  }
  return share;
}

/// The last rank whose elements are in this rank's result.
int last_giver(Kind kind, const Comm& comm) {
  if (kind == Kind::scan) return comm.rank;
  if (kind == Kind::exscan) return comm.rank - 1;
  return (comm.is_inter ? comm.remote_size : comm.size) - 1;
}

}  // namespace

void add_reduction(Operation& o, const Spec& spec, const Comm& comm) {
  Rng alike(spec.shape_seed);
  const Element element = draw_element(alike);
  o.op = element.op;
  o.has_own_op = element.has_own_op;
  o.keep(element.layout);
  o.rtype = element.layout.type;
  o.rcount = spec.count;
  o.root = spec.root;
  const bool is_root = comm.rank == spec.root && comm.side == 0;
  if (comm.is_inter && spec.kind == Kind::reduce && comm.side == 0) o.root = is_root ? MPI_ROOT : MPI_PROC_NULL;
  const bool receives = spec.kind != Kind::reduce || is_root;
  const bool gives = !comm.is_inter || spec.kind != Kind::reduce || comm.side == 1;
  const Share share = share_of(o, spec, comm);
  const Block own{.layout = element.layout,
                  .count = share.total,
                  .displacement = 0,
                  .content = reduced(element, comm.id, {comm.side, comm.rank, comm.rank, 0, share.total}),
                  .is_input = true};
  if (gives) (spec.in_place && receives ? o.receive : o.send).add(own);
  if (spec.in_place && is_scattered(spec.kind)) {
    Block rest = own;  // MPI leaves open what is behind the result
    rest.is_undefined = true;
    rest.is_input = false;
    rest.displacement = share.count * element.layout.extent;
    rest.count = share.total - share.count;
    o.receive.add(rest);
  }
  if (!receives) return;
  const int last = last_giver(spec.kind, comm);
  o.receive.add(
      {.layout = element.layout,
       .count = share.count,
       .displacement = 0,
       .content = reduced(element, comm.id, {comm.is_inter ? 1 - comm.side : 0, 0, last, share.first, share.count}),
       .is_input = false,
       .may_fill_gaps = true,
       .is_undefined = last < 0});
}
