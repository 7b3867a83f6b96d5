// SPDX-License-Identifier: Apache-2.0
// Arguments and results of the collectives that move data.
#include <algorithm>
#include <numeric>

#include "script.hpp"

namespace {

/// Ranks of both sides of an intercommunicator have different numbers.
int key_of(int side, int rank) { return side * 1000 + rank; }

/// Open MPI chooses an algorithm of MPI_Allgatherv by this rank's own type, and so hangs where types differ.
#ifdef OPEN_MPI
constexpr bool has_like_types = true;
#else
constexpr bool has_like_types = false;
#endif

/// What one call's blocks follow from.
struct Maker {
  Operation& o;
  const Spec& spec;
  const Comm& comm;
  Layout base;
  Rng mine;
  int me, peers, peers_side;
  long grain;  // of counts that vary

  Maker(Operation& operation, const Spec& s, const Comm& c)
      : o(operation), spec(s), comm(c), mine(hash_of(s.shape_seed, has_like_types ? 0 : c.rank, c.side)),
        me(key_of(c.side, c.rank)), peers(c.is_inter ? c.remote_size : c.size), peers_side(c.is_inter ? 1 - c.side : 0),
        grain(1) {
    Rng alike(spec.shape_seed);
    base = base_layout(alike);
    if (alike.chance(40)) grain = alike.chance(50) ? 6 : alike.between(2, 3);
    o.keep(base);
  }

  [[nodiscard]] int peer(int rank) const { return key_of(peers_side, rank); }

  [[nodiscard]] Content content(int from, int to, long elements) const {
    return [id = comm.id, from, to, bytes = elements * base.size](uint64_t seed) {
      return stream(hash_of(seed, id, from, to), bytes);
    };
  }

  Typed type(long elements) {
    Typed made = typed(base, elements, mine);
    o.keep(made.layout);
    return made;
  }

  /// A type for counts that are multiples of the grain, and how many elements it has.
  std::pair<Layout, long> type_of_grain() {
    const Typed made = type(grain);
    return {made.layout, grain / made.count};
  }

  /// Elements from one rank to another.
  [[nodiscard]] long elements(int from, int to) const {
    if (spec.in_place && from > to) std::swap(from, to);
    const uint64_t drawn = hash_of(spec.counts_seed, from, to);
    const long most = spec.count / grain;
    if (drawn % 100 < 15) return 0;
    return grain * (drawn % 100 < 50 ? most : static_cast<long>(mixed(drawn) % static_cast<uint64_t>(2 * most + 1)));
  }
};

/// What each peer's block holds: who sends it to whom.
using Ends = std::function<std::pair<int, int>(int peer)>;

void add_equal(Maker& m, Area& area, const Typed& typed, long elements, bool is_input, const Ends& ends) {
  for (int i = 0; i < m.peers; i++) {
    const auto [from, to] = ends(i);
    area.add({.layout = typed.layout,
              .count = typed.count,
              .displacement = i * typed.count * typed.layout.extent,
              .content = m.content(from, to, elements),
              .is_input = is_input});
  }
}

void add_varying(Maker& m, Area& area, Numbers& counts, Numbers& displs, const Layout& layout, long each,
                 const std::vector<long>& elements, bool is_input, const Ends& ends) {
  std::vector<long> lengths;
  for (const long count : elements) lengths.push_back(count / each);
  const std::vector<long> places = places_of(lengths, m.mine);
  for (size_t i = 0; i < lengths.size(); i++) {
    const auto [from, to] = ends(static_cast<int>(i));
    counts.add(lengths[i]);
    displs.add(places[i]);
    area.add({.layout = layout,
              .count = lengths[i],
              .displacement = places[i] * layout.extent,
              .content = m.content(from, to, elements[i]),
              .is_input = is_input});
  }
}

void send_equal(Maker& m, const Ends& ends) {
  const Typed typed = m.type(m.spec.count);
  m.o.scount = typed.count;
  m.o.stype = typed.layout.type;
  add_equal(m, m.o.send, typed, m.spec.count, true, ends);
}

Typed receive_equal(Maker& m, const Ends& ends) {
  const Typed typed = m.type(m.spec.count);
  m.o.rcount = typed.count;
  m.o.rtype = typed.layout.type;
  add_equal(m, m.o.receive, typed, m.spec.count, false, ends);
  return typed;
}

void send_varying(Maker& m, const std::vector<long>& elements, const Ends& ends) {
  const auto [layout, each] = m.type_of_grain();
  m.o.stype = layout.type;
  add_varying(m, m.o.send, m.o.scounts, m.o.sdispls, layout, each, elements, true, ends);
}

std::pair<Layout, long> receive_varying(Maker& m, const std::vector<long>& elements, const Ends& ends) {
  const auto [layout, each] = m.type_of_grain();
  m.o.rtype = layout.type;
  add_varying(m, m.o.receive, m.o.rcounts, m.o.rdispls, layout, each, elements, false, ends);
  return {layout, each};
}

void add_bcast(Maker& m) {
  const Typed typed = m.type(m.spec.count);
  const bool is_root = m.spec.root == m.comm.rank && (!m.comm.is_inter || m.comm.side == 0);
  m.o.root = m.spec.root;
  if (m.comm.is_inter && m.comm.side == 0) m.o.root = is_root ? MPI_ROOT : MPI_PROC_NULL;
  m.o.rcount = typed.count;
  m.o.rtype = typed.layout.type;
  if (m.comm.is_inter && m.comm.side == 0 && !is_root) return;
  m.o.receive.add({.layout = typed.layout,
                   .count = typed.count,
                   .displacement = 0,
                   .content = m.content(m.spec.root, 0, m.spec.count),
                   .is_input = is_root});
}

/// One block of this rank's, which is its own place of the receive buffer where it is in place.
void add_own(Maker& m, long elements, int to) {
  const Typed typed = m.type(elements);
  m.o.scount = typed.count;
  m.o.stype = typed.layout.type;
  m.o.send.add({.layout = typed.layout,
                .count = typed.count,
                .displacement = 0,
                .content = m.content(m.me, to, elements),
                .is_input = true});
}

/// Makes the block at this rank's place an input.
void put_in_place(Maker& m, const Typed& typed, long displacement, long elements, int from, int to) {
  m.o.receive.add({.layout = typed.layout,
                   .count = typed.count,
                   .displacement = displacement,
                   .content = m.content(from, to, elements),
                   .is_input = true});
}

void add_gather(Maker& m) {
  const bool receives = m.spec.kind == Kind::allgather || m.comm.rank == m.spec.root;
  const bool in_place = m.spec.in_place && receives;
  m.o.root = m.spec.root;
  if (!in_place) add_own(m, m.spec.count, 0);
  if (!receives) return;
  const Typed typed = receive_equal(m, [&](int i) { return std::pair(m.peer(i), 0); });
  if (in_place) put_in_place(m, typed, m.comm.rank * typed.count * typed.layout.extent, m.spec.count, m.me, 0);
}

void add_gatherv(Maker& m) {
  const bool receives = m.spec.kind == Kind::allgatherv || m.comm.rank == m.spec.root;
  const bool in_place = m.spec.in_place && receives;
  std::vector<long> elements;
  for (int i = 0; i < m.peers; i++) elements.push_back(m.elements(i, i));
  m.o.root = m.spec.root;
  if (!in_place) add_own(m, elements[static_cast<size_t>(m.comm.rank)], 0);
  if (!receives) return;
  const auto [layout, each] = receive_varying(m, elements, [](int i) { return std::pair(i, 0); });
  const auto own = static_cast<size_t>(m.comm.rank);
  if (in_place) {
    put_in_place(m, {layout, elements[own] / each}, m.o.rdispls.places[own] * layout.extent, elements[own], m.me, 0);
  }
}

void add_scatter(Maker& m, bool varies) {
  const bool is_root = m.comm.rank == m.spec.root;
  std::vector<long> elements;
  for (int i = 0; i < m.peers; i++) elements.push_back(varies ? m.elements(i, i) : m.spec.count);
  const long own = elements[static_cast<size_t>(m.comm.rank)];
  m.o.root = m.spec.root;
  const Ends ends = [&](int i) { return std::pair(m.spec.root, i); };
  if (is_root && varies) send_varying(m, elements, ends);
  else if (is_root) send_equal(m, ends);
  if (is_root && m.spec.in_place) return;
  const Typed typed = m.type(own);
  m.o.rcount = typed.count;
  m.o.rtype = typed.layout.type;
  m.o.receive.add({.layout = typed.layout,
                   .count = typed.count,
                   .displacement = 0,
                   .content = m.content(m.spec.root, m.comm.rank, own),
                   .is_input = false});
}

void add_alltoall(Maker& m) {
  const Ends to = [&](int i) { return std::pair(m.me, m.peer(i)); };
  const Ends from = [&](int i) { return std::pair(m.peer(i), m.me); };
  if (!m.spec.in_place) send_equal(m, to);
  const Typed typed = receive_equal(m, from);
  if (m.spec.in_place) add_equal(m, m.o.receive, typed, m.spec.count, true, to);
}

void add_alltoallv(Maker& m) {
  std::vector<long> out, in;
  for (int i = 0; i < m.peers; i++) out.push_back(m.elements(m.comm.rank, i));
  for (int i = 0; i < m.peers; i++) in.push_back(m.elements(i, m.comm.rank));
  const Ends to = [&](int i) { return std::pair(m.me, i); };
  const Ends from = [&](int i) { return std::pair(i, m.me); };
  if (!m.spec.in_place) send_varying(m, out, to);
  const auto [layout, each] = receive_varying(m, in, from);
  for (size_t i = 0; m.spec.in_place && i < out.size(); i++) {
    put_in_place(m, {layout, out[i] / each}, m.o.rdispls.places[i] * layout.extent, out[i], m.me, static_cast<int>(i));
  }
}

/// Blocks with a type each, side by side in bytes.
void add_typed(Maker& m, Area& area, Numbers& counts, Numbers& displs, std::vector<MPI_Datatype>& types,
               const std::vector<long>& elements, bool is_input, const Ends& ends) {
  long place = 0;
  for (size_t i = 0; i < elements.size(); i++) {
    const Typed typed = m.type(elements[i]);
    const auto [from, to] = ends(static_cast<int>(i));
    const long first = typed.count == 0 ? 0 : typed.layout.first();
    const long at = (place - first + 31) / 16 * 16;
    counts.add(typed.count);
    displs.add(at);
    types.push_back(typed.layout.type);
    area.add({.layout = typed.layout,
              .count = typed.count,
              .displacement = at,
              .content = m.content(from, to, elements[i]),
              .is_input = is_input});
    if (typed.count > 0) place = at + typed.layout.last(typed.count);
  }
}

void add_alltoallw(Maker& m) {
  std::vector<long> out, in;
  for (int i = 0; i < m.peers; i++) out.push_back(m.elements(m.comm.rank, i));
  for (int i = 0; i < m.peers; i++) in.push_back(m.elements(i, m.comm.rank));
  const Ends to = [&](int i) { return std::pair(m.me, i); };
  const Ends from = [&](int i) { return std::pair(i, m.me); };
  if (!m.spec.in_place) add_typed(m, m.o.send, m.o.scounts, m.o.sdispls, m.o.stypes, out, true, to);
  add_typed(m, m.o.receive, m.o.rcounts, m.o.rdispls, m.o.rtypes, in, false, from);
  const std::vector<Block> outputs = m.o.receive.blocks();
  for (size_t i = 0; m.spec.in_place && i < out.size(); i++) {
    const Block& block = outputs[i];
    put_in_place(m, {block.layout, block.count}, block.displacement, out[i], m.me, static_cast<int>(i));
  }
}

}  // namespace

std::vector<long> places_of(const std::vector<long>& counts, Rng& rng) {
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  if (rng.chance(30)) rng.shuffle(order);
  const bool has_gaps = rng.chance(40);
  std::vector<long> places(counts.size());
  long place = has_gaps ? rng.below(4) : 0;
  for (const size_t i : order) {
    places[i] = place;
    place += counts[i] + (has_gaps ? rng.below(3) : 0);
  }
  return places;
}

void add_movement(Operation& o, const Spec& spec, const Comm& comm) {
  Maker m(o, spec, comm);
  switch (spec.kind) {
    case Kind::bcast: return add_bcast(m);
    case Kind::gather:
    case Kind::allgather: return add_gather(m);
    case Kind::gatherv:
    case Kind::allgatherv: return add_gatherv(m);
    case Kind::scatter: return add_scatter(m, false);
    case Kind::scatterv: return add_scatter(m, true);
    case Kind::alltoall: return add_alltoall(m);
    case Kind::alltoallv: return add_alltoallv(m);
    case Kind::alltoallw: return add_alltoallw(m);
    default: return;
  }
}

void add_neighbours(Operation& o, const Spec& spec, const Comm& comm) {
  Maker m(o, spec, comm);
  const bool to_all = spec.kind == Kind::neighbor_allgather || spec.kind == Kind::neighbor_allgatherv;
  const bool varies = spec.kind != Kind::neighbor_allgather && spec.kind != Kind::neighbor_alltoall;
  const Ends to = [&](int i) { return std::pair(m.me, comm.targets[static_cast<size_t>(i)]); };
  const Ends from = [&](int i) { return std::pair(comm.sources[static_cast<size_t>(i)], to_all ? 0 : m.me); };
  std::vector<long> out, in;
  for (const int target : comm.targets) out.push_back(varies ? m.elements(m.me, target) : spec.count);
  for (const int source : comm.sources) {
    in.push_back(!varies ? spec.count : m.elements(source, to_all ? source : m.me));
  }
  if (to_all) add_own(m, varies ? m.elements(m.me, m.me) : spec.count, 0);
  if (spec.kind == Kind::neighbor_alltoallw) {
    add_typed(m, o.send, o.scounts, o.sdispls, o.stypes, out, true, to);
    add_typed(m, o.receive, o.rcounts, o.rdispls, o.rtypes, in, false, from);
  } else if (varies) {
    receive_varying(m, in, from);
    if (!to_all) send_varying(m, out, to);
  } else {
    m.peers = static_cast<int>(in.size());
    receive_equal(m, from);
    m.peers = static_cast<int>(out.size());
    if (!to_all) send_equal(m, to);
  }
  // A neighbour that is none has a place, but nothing comes.
  o.receive.silence([&](size_t i) { return comm.sources[i] == MPI_PROC_NULL; });
}
