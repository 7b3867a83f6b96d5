// SPDX-License-Identifier: Apache-2.0
// What programs use beside collectives and messages: windows, files, packed data, attributes, errors.
#include <algorithm>
#include <cstdio>

#include "script.hpp"

namespace {

/// The communicator of a step with MPI's intracommunicators alone, or nothing where this rank has none.
const Comm* chosen(Script& s, uint64_t seed) {
  Rng place(seed);
  const Comm& comm = s.comm_at(place.below(comm_places));
  return comm.handle == MPI_COMM_NULL || comm.is_inter ? nullptr : &comm;
}

int copy_attribute(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int, void* value, void*) {
  --*static_cast<int*>(value);
  return MPI_SUCCESS;
}

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// A wrong call, which no rank may send anything for.
int wrong_call(int which, MPI_Comm comm, int size) {
  int numbers[4] = {}, others[4] = {};
  MPI_Request request = MPI_REQUEST_NULL;
  switch (which) {
    case 0: return MPI_Bcast(numbers, -1, MPI_INT, 0, comm);
    case 1: return MPI_Bcast(numbers, 1, MPI_INT, size, comm);
    case 2: return MPI_Bcast(numbers, 1, MPI_DATATYPE_NULL, 0, comm);
    case 3: return MPI_Allreduce(numbers, others, 1, MPI_INT, MPI_OP_NULL, comm);
    case 4: return MPI_Reduce(numbers, others, 1, MPI_INT, MPI_SUM, -5, comm);
    case 5: return MPI_Ibcast(numbers, -1, MPI_INT, 0, comm, &request);
    case 6: return MPI_Iallreduce(numbers, others, 1, MPI_DATATYPE_NULL, MPI_SUM, comm, &request);
    case 7: return MPI_Send(numbers, 1, MPI_INT, size + 3, 0, comm);
    case 8: return MPI_Recv(numbers, -1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    case 9: return MPI_Isend(numbers, 1, MPI_INT, 0, -7, comm, &request);
    case 10: return MPI_Alltoall(numbers, 1, MPI_DATATYPE_NULL, others, 1, MPI_INT, comm);
    default: return MPI_Scan(numbers, others, 1, MPI_INT, MPI_OP_NULL, comm);
  }
}

}  // namespace

void use_window(Script& s, uint64_t seed) {
  const Comm* comm = chosen(s, seed);
  if (comm == nullptr) return;
  s.doing("a window", *comm);
  Rng rng(hash_of(seed, comm->id));
  const int count = rng.between(1, 500), far = rng.below(comm->size);
  const int to = (comm->rank + far) % comm->size, from = (comm->rank - far + comm->size) % comm->size;
  std::vector<int> exposed(static_cast<size_t>(3 * count), comm->rank),
      mine(static_cast<size_t>(count), comm->rank + 5);
  std::vector<int> got(static_cast<size_t>(count), -1);
  MPI_Win window;
  s.must(MPI_Win_create(exposed.data(), static_cast<MPI_Aint>(exposed.size() * sizeof(int)), sizeof(int), MPI_INFO_NULL,
                        comm->handle, &window),
         "win_create");
  s.must(MPI_Win_fence(0, window), "win_fence");
  MPI_Put(mine.data(), count, MPI_INT, to, 0, count, MPI_INT, window);
  MPI_Accumulate(mine.data(), count, MPI_INT, to, count, count, MPI_INT, MPI_SUM, window);
  MPI_Get(got.data(), count, MPI_INT, from, 2 * count, count, MPI_INT, window);
  s.must(MPI_Win_fence(0, window), "win_fence");
  for (size_t i = 0; i < static_cast<size_t>(count); i++) {
    const bool right = exposed[i] == from + 5 && exposed[i + static_cast<size_t>(count)] == comm->rank + from + 5 &&
                       exposed[i + 2 * static_cast<size_t>(count)] == comm->rank && got[i] == from;
    if (!right) s.fail(s.describe("a window", *comm), "element " + std::to_string(i));
  }
  s.must(MPI_Win_free(&window), "win_free");
}

/// MPICH 5.0.2 hangs by itself where two threads of each rank open files on two communicators at once.
void use_file(Script& s, uint64_t seed) {
  const Comm* comm = chosen(s, seed);
  if (comm == nullptr || s.scratch == nullptr || s.thread > 0) return;
  s.doing("a file", *comm);
  Rng rng(hash_of(seed, comm->id));
  const int count = rng.between(1, 3000);
  const std::string name = std::string(s.scratch) + "/" + std::to_string(comm->id) + "." + std::to_string(s.step);
  MPI_File file;
  const Bytes mine = stream(hash_of(seed, comm->rank), count);
  const int next = (comm->rank + 1) % comm->size;
  Bytes got(mine.size());
  s.must(MPI_File_open(comm->handle, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &file),
         "file_open");
  s.must(MPI_File_write_at_all(file, static_cast<MPI_Offset>(comm->rank) * count, mine.data(), count, MPI_BYTE,
                               MPI_STATUS_IGNORE),
         "file_write_at_all");
  s.must(MPI_File_sync(file), "file_sync");
  s.must(MPI_Barrier(comm->handle), "barrier");
  s.must(MPI_File_sync(file), "file_sync");
  s.must(
      MPI_File_read_at_all(file, static_cast<MPI_Offset>(next) * count, got.data(), count, MPI_BYTE, MPI_STATUS_IGNORE),
      "file_read_at_all");
  if (got != stream(hash_of(seed, next), count)) s.fail(s.describe("a file", *comm), "what was read differs");
  s.must(MPI_File_close(&file), "file_close");
}

/// One rank packs what it sends to all; the others unpack it.
void pack_and_send(Script& s, uint64_t seed) {
  const Comm* comm = chosen(s, seed);
  if (comm == nullptr) return;
  s.doing("packed", *comm);
  Rng rng(hash_of(seed, comm->id)), mine(hash_of(seed, comm->rank));
  const int root = rng.below(comm->size);
  const long elements = rng.between(1, 400);
  Operation o;
  const Layout base = base_layout(rng);
  const Typed type = typed(base, elements, mine);
  o.keep(base);
  o.keep(type.layout);
  o.receive.add({.layout = type.layout,
                 .count = type.count,
                 .content = [seed, bytes = elements * base.size](uint64_t) { return stream(seed, bytes); },
                 .is_input = comm->rank == root});
  o.receive.allocate(mine);
  o.receive.fill(seed);
  int room = 0, place = 0;
  MPI_Pack_size(static_cast<int>(elements), base.type, comm->handle, &room);
  Bytes packed(static_cast<size_t>(room) + 64);
  room = static_cast<int>(packed.size());
  const int count = static_cast<int>(type.count);
  if (comm->rank == root) MPI_Pack(o.receive.at(), count, type.layout.type, packed.data(), room, &place, comm->handle);
  s.must(MPI_Bcast(&place, 1, MPI_INT, root, comm->handle), "bcast");
  s.must(MPI_Bcast(packed.data(), place, MPI_PACKED, root, comm->handle), "bcast of packed data");
  place = 0;
  if (comm->rank != root) {
    s.must(MPI_Unpack(packed.data(), room, &place, o.receive.at(), count, type.layout.type, comm->handle), "unpack");
  }
  o.what = s.describe("packed", *comm);
  s.finish(o, {});
}

void make_errors(Script& s, uint64_t seed) {
  const Comm* comm = chosen(s, seed);
  if (comm == nullptr) return;
  s.doing("errors", *comm);
  Rng rng(hash_of(seed, comm->id));
  MPI_Errhandler before;
  MPI_Comm_get_errhandler(comm->handle, &before);
  MPI_Comm_set_errhandler(comm->handle, MPI_ERRORS_RETURN);
  const int which = rng.below(12);
  const int error_class = class_of(wrong_call(which, comm->handle, comm->size));
  s.errors += " " + std::to_string(which) + "=" + std::to_string(error_class);
  MPI_Comm_set_errhandler(comm->handle, before);
  MPI_Errhandler_free(&before);
}

/// An attribute goes over to a duplicate, and ends with it.
void use_attributes(Script& s, uint64_t seed) {
  const Comm* comm = chosen(s, seed);
  if (comm == nullptr) return;
  s.doing("attributes", *comm);
  int keyval = MPI_KEYVAL_INVALID, value = 2, found = 0;  // counts copies that are left
  int* seen = nullptr;
  MPI_Comm other;
  s.must(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, nullptr), "create_keyval");
  s.must(MPI_Comm_set_attr(comm->handle, keyval, &value), "set_attr");
  s.must(MPI_Comm_dup(comm->handle, &other), "dup");
  s.must(MPI_Comm_get_attr(other, keyval, &seen, &found), "get_attr");
  if (!found || seen != &value) s.fail(s.describe("attributes", *comm), "a duplicate has no copy");
  s.must(MPI_Comm_delete_attr(comm->handle, keyval), "delete_attr");
  s.must(MPI_Comm_free(&other), "free");
  if (value != 0) s.fail(s.describe("attributes", *comm), std::to_string(value) + " copies are left");
  s.must(MPI_Comm_free_keyval(&keyval), "free_keyval");
}
