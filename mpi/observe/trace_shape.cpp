// SPDX-License-Identifier: Apache-2.0
#include "observe/trace_shape.hpp"

#include <algorithm>
#include <mutex>

#include "call/datatype.hpp"
#include "call/neighbours.hpp"
#include "job/clock.hpp"
#include "job/world_ranks.hpp"
#include "observe/trace_encoder.hpp"
#include "observe/trace_recorder.hpp"
#include "observe/watch.hpp"

namespace antiphon::mpi::trace {

namespace {

/// Lists the kinds of fields (docs/reference/trace.md).
enum Field : std::uint64_t {
  root = 1,
  peer = 2,
  tag = 3,
  send_count = 4,
  send_size = 5,
  recv_count = 6,
  recv_size = 7,
  send_counts = 8,
  recv_counts = 9,
  flags = 10,
  source = 11,
  source_tag = 12,
  requests = 13,
  bytes_to = 14,
  bytes_from = 15,
};
enum Flag : std::uint64_t { in_place = 1, as_schedule = 2, failed = 4, recv_gaps = 8, send_gaps = 16 };

constexpr std::uint64_t communicator_key = 1;
constexpr std::uint64_t outside_world = 0xffffffff;

int keyval = MPI_KEYVAL_INVALID;
std::mutex communicator_mutex;
std::uint64_t communicators = 0;  ///< under the mutex

/// Adds the ranks in MPI_COMM_WORLD of a communicator's (local) group: all of them, or a progression.
void add_members(Encoder& e, MPI_Comm comm) {
  const std::vector<int> there = world_ranks(comm);
  const std::size_t size = there.size();
  const int stride = size > 1 ? there[1] - there[0] : 1;
  bool even = all_in_world(there);
  for (std::size_t i = 1; even && i < there.size(); ++i) even = there[i] - there[i - 1] == stride;
  e.varint(static_cast<std::uint64_t>(size));
  e.varint(even ? 1 : 0);
  if (even) {
    e.varint(static_cast<std::uint64_t>(there[0]));
    e.signed_number(stride);
  } else {
    for (const int r : there) e.varint(r == MPI_UNDEFINED ? outside_world : static_cast<std::uint64_t>(r));
  }
}

/// Returns the number that the communicator has already; 0: none.
std::uint64_t known_number(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &found);
  return found == 0 ? 0 : static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(value));
}

/// Returns the communicator's number; records its definition if it is new.
std::uint64_t number_of(MPI_Comm comm) {
  if (const std::uint64_t known = known_number(comm); known != 0) return known;
  // Definitions stand in the trace in the order of their numbers, and before the calls of any thread that use them.
  const std::lock_guard lock(communicator_mutex);
  if (const std::uint64_t known = known_number(comm); known != 0) return known;
  const std::uint64_t number = ++communicators;
  Encoder e;
  e.varint(communicator_key);
  e.varint(number);
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(comm, name, &length);
  e.text({name, static_cast<std::size_t>(std::max(0, length))});
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  e.varint(inter != 0 ? 1 : 0);
  add_members(e, comm);
  record_definition(e.bytes());
  PMPI_Comm_set_attr(comm, keyval, reinterpret_cast<void*>(static_cast<std::uintptr_t>(number)));
  return number;
}

/// Gathers the fields of a shape.
class Shape {
 public:
  void number(Field field, std::uint64_t value) {
    fields_.varint(field);
    fields_.varint(value);
    ++count_;
  }
  void signed_number(Field field, std::int64_t value) {
    fields_.varint(field);
    fields_.signed_number(value);
    ++count_;
  }
  template <class At>
  void list(Field field, std::int64_t size, At&& at) {
    fields_.varint(field);
    fields_.list(size, at);
    ++count_;
  }
  /// Adds how many elements there are, and their size.
  void elements(bool sends, std::int64_t n, MPI_Datatype type) {
    size_of(sends, type);
    number(sends ? send_count : recv_count, static_cast<std::uint64_t>(std::max<std::int64_t>(0, n)));
  }
  void elements(bool sends, const Integers& counts, std::int64_t ranks, MPI_Datatype type) {
    size_of(sends, type);
    list(sends ? send_counts : recv_counts, ranks,
         [&](std::int64_t i) { return std::max<std::int64_t>(0, counts[i]); });
  }
  void flag(Flag f) { flags_ |= f; }
  void write(std::uint64_t function, MPI_Comm comm, double began_s) {
    if (flags_ != 0) number(flags, flags_);
    Encoder all;
    all.varint(function);
    all.varint(comm == MPI_COMM_NULL ? 0 : number_of(comm));
    all.varint(count_);
    all.append(fields_.bytes());
    record(all.bytes(), began_s, now_s());
  }

 private:
  void size_of(bool sends, MPI_Datatype type) {
    TypeInfo info;
    if (!inspect(type, info)) return;
    number(sends ? send_size : recv_size, static_cast<std::uint64_t>(info.size_bytes));
    if (!info.contiguous) flag(sends ? send_gaps : recv_gaps);
  }

  Encoder fields_;
  std::uint64_t count_ = 0;
  std::uint64_t flags_ = 0;
};

std::int64_t plain_rank(int r) { return r == MPI_ANY_SOURCE ? -1 : r == MPI_PROC_NULL ? -2 : r; }
std::int64_t plain_tag(int t) { return t == MPI_ANY_TAG ? -1 : t; }

void add_side(Shape& shape, bool sends, const Call& call, bool many, std::int64_t ranks) {
  const Integers& counts = sends ? call.sendcounts : call.recvcounts;
  const MPI_Datatype type = sends ? call.sendtype : call.recvtype;
  if (many && counts.present()) shape.elements(sends, counts, ranks, type);
  else shape.elements(sends, sends ? call.sendcount : call.recvcount, type);
}

/// Adds the bytes for each rank; used for calls with a type for each block, or with blocks for neighbours.
void add_bytes(Shape& shape, const Call& call) {
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> from;
  int inter = 0;
  PMPI_Comm_test_inter(call.comm, &inter);
  if (call.sendbuf == MPI_IN_PLACE) shape.flag(in_place);
  if (inter != 0 || !bytes_by_rank(call, to, from)) return;
  const auto size = static_cast<std::int64_t>(to.size());
  shape.list(bytes_to, size, [&](std::int64_t i) { return to[static_cast<std::size_t>(i)]; });
  shape.list(bytes_from, size, [&](std::int64_t i) { return from[static_cast<std::size_t>(i)]; });
}

/// The counts of a reduce_scatter are of the own group's ranks, also where the data come from another.
int local_size(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

/// Adds only what MPI lets a rank look at: the root's arguments at the root, and nothing of a side that is in place.
void add_arguments(Shape& shape, const Call& call) {
  if (call.form != Form::plain) return add_bytes(shape, call);
  int size = 0;
  int rank = 0;
  int inter = 0;
  PMPI_Comm_test_inter(call.comm, &inter);
  PMPI_Comm_rank(call.comm, &rank);
  if (inter != 0) PMPI_Comm_remote_size(call.comm, &size);
  else PMPI_Comm_size(call.comm, &size);
  if (has_root(call.collective)) shape.signed_number(root, call.root);
  const bool at_root = inter == 0 ? rank == call.root : call.root == MPI_ROOT;
  const bool sends_in_place = call.sendbuf == MPI_IN_PLACE;
  const bool receives_in_place = call.recvbuf == MPI_IN_PLACE;
  if (sends_in_place || receives_in_place) shape.flag(in_place);
  switch (call.collective) {
    case Collective::barrier: break;
    case Collective::bcast: add_side(shape, true, call, false, size); break;
    case Collective::scatter:
    case Collective::scatterv:
      if (at_root) add_side(shape, true, call, true, size);
      if (!at_root || (inter == 0 && !receives_in_place)) add_side(shape, false, call, false, size);
      break;
    case Collective::gather:
    case Collective::gatherv:
      if (!at_root || (inter == 0 && !sends_in_place)) add_side(shape, true, call, false, size);
      if (at_root) add_side(shape, false, call, true, size);
      break;
    case Collective::reduce_scatter: shape.elements(true, call.recvcounts, local_size(call.comm), call.sendtype); break;
    case Collective::reduce_scatter_block: shape.elements(true, call.recvcount, call.sendtype); break;
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::scan:
    case Collective::exscan: shape.elements(true, call.sendcount, call.sendtype); break;
    default:
      if (!sends_in_place) add_side(shape, true, call, true, size);
      add_side(shape, false, call, true, size);
  }
}

/// Records point-to-point calls.
class P2pTrace : public P2pRecorder {
 public:
  void before(const P2pCall& c) noexcept override { c.began_s = now_s(); }
  void after(const P2pCall& c, int result) noexcept override {
    try {
      Shape shape;
      if (result != MPI_SUCCESS) shape.flag(failed);
      else if (c.comm != MPI_COMM_NULL) add_message(shape, c);
      if (c.comm == MPI_COMM_NULL && c.request_count > 0)
        shape.number(requests, static_cast<std::uint64_t>(c.request_count));
      shape.write(collective_count + static_cast<std::uint64_t>(c.call), result == MPI_SUCCESS ? c.comm : MPI_COMM_NULL,
                  c.began_s);
    } catch (const std::exception&) {
      // Memory is exhausted: the program goes on, and this call is not in the trace.
    }
  }

 private:
  static bool receives(P2p call) {
    return call == P2p::recv || call == P2p::irecv || call == P2p::recv_init || call == P2p::mrecv ||
           call == P2p::imrecv;
  }
  static bool waits_for_message(P2p call) {
    return call == P2p::recv || call == P2p::sendrecv || call == P2p::sendrecv_replace || call == P2p::mrecv;
  }

  static void add_message(Shape& shape, const P2pCall& c) {
    const bool both = c.recv_type != MPI_DATATYPE_NULL;
    const bool known = waits_for_message(c.call) && c.statuses != nullptr;
    const auto source_of = [&](int wanted) {
      return plain_rank(wanted == MPI_ANY_SOURCE && known ? c.statuses->MPI_SOURCE : wanted);
    };
    shape.signed_number(peer, receives(c.call) ? source_of(c.peer) : plain_rank(c.peer));
    shape.signed_number(tag, plain_tag(c.tag));
    if (c.type != MPI_DATATYPE_NULL) shape.elements(!receives(c.call), c.count, c.type);
    if (!both) return;
    shape.signed_number(source, source_of(c.source));
    shape.signed_number(source_tag, plain_tag(c.recv_tag));
    shape.elements(false, c.recv_count, c.recv_type);
  }
};
P2pTrace p2p_trace;

}  // namespace

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  const auto add = [&](int kind) {
    std::string text(kind_name(kind));
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
    names.push_back("MPI_" + text);
  };
  for (int c = 0; c < collective_count; ++c) add(c);
  names.insert(names.end(), p2p_names.begin(), p2p_names.end());
  for (int kind = collective_count; kind < kind_count; ++kind) add(kind);
  return names;
}

void prepare_shapes() {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  set_p2p_recorder(WatchReason::trace, &p2p_trace);
}

void release_shapes() {
  set_p2p_recorder(WatchReason::trace, nullptr);
  PMPI_Comm_free_keyval(&keyval);
}

void collective(const Call& call, double began_s, bool scheduled, bool has_failed) {
  try {
    Shape shape;
    if (scheduled) shape.flag(as_schedule);
    if (has_failed) shape.flag(failed);
    else add_arguments(shape, call);
    const auto kind = static_cast<std::uint64_t>(kind_of(call));
    shape.write(kind < collective_count ? kind : kind + p2p_names.size(), has_failed ? MPI_COMM_NULL : call.comm,
                began_s);
  } catch (const std::exception&) {
    // Memory is exhausted: the program goes on, and this call is not in the trace.
  }
}

}  // namespace antiphon::mpi::trace
