// SPDX-License-Identifier: Apache-2.0
#include "call/datatype.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "call/long_type.hpp"
#include "call/type_contents.hpp"
#include "job/own_comms.hpp"

namespace antiphon::mpi {

namespace {

int keyval = MPI_KEYVAL_INVALID;

int delete_info(MPI_Datatype, int, void* value, void*) {
  delete static_cast<TypeInfo*>(value);
  return MPI_SUCCESS;
}

codec::Element element_of_named(MPI_Datatype type) {
  if (type == MPI_DOUBLE || type == MPI_DOUBLE_PRECISION) return codec::Element::f64;
  if (type == MPI_FLOAT || type == MPI_REAL) return codec::Element::f32;
  if (type == MPI_INT || type == MPI_INTEGER || type == MPI_INT32_T) return codec::Element::i32;
  if (type == MPI_LONG || type == MPI_INT64_T) return codec::Element::i64;
  return codec::Element::unknown;
}

/// Holds what the library says of a named type. Such a handle is never freed, so it always means the same type; asking
/// about it at each call would take much of the time of a short one.
struct NamedType {
  bool known = false;
  MPI_Datatype type;
  std::int64_t size_bytes = 0;
  std::int64_t extent_bytes = 0;
  bool contiguous = false;
  codec::Element element = codec::Element::unknown;
};
/// The thread's last few named types: programs use few by turns.
struct NamedTypes {
  std::array<NamedType, 4> last = {};
  std::size_t next = 0;
};
constinit thread_local NamedTypes named_types [[gnu::tls_model("initial-exec")]] = {};

TypeInfo info_of(const NamedType& named) {
  return {named.size_bytes, named.extent_bytes, 0, named.extent_bytes, true, named.contiguous, nullptr, named.element};
}

TypeInfo predefined_info(MPI_Datatype type) {
  int size = 0;
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lb, &extent);
  NamedType& named = named_types.last[named_types.next++ % named_types.last.size()];
  named = {true, type, size, extent, lb == 0 && size == extent, element_of_named(type)};
  return info_of(named);
}

bool layout_is_plain(MPI_Datatype type);

/// Tells whether a structure's blocks are plain and lie one behind the other, in their order and without padding.
bool blocks_adjoin(MPI_Datatype type, const Making& making) {
  std::vector<int> integers(static_cast<std::size_t>(making.integers));
  std::vector<MPI_Aint> places(static_cast<std::size_t>(making.addresses));
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(making.types));
  if (PMPI_Type_get_contents(type, making.integers, making.addresses, making.types, integers.data(), places.data(),
                             types.data()) != MPI_SUCCESS)
    return false;
  MPI_Aint lb = 0, extent = 0, end = 0;
  PMPI_Type_get_extent(type, &lb, &extent);
  bool adjoin = lb == 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    MPI_Count size = 0;
    PMPI_Type_size_x(types[i], &size);
    adjoin = adjoin && (integers[i + 1] == 0 || (places[i] == end && layout_is_plain(types[i])));
    end += integers[i + 1] * static_cast<MPI_Aint>(size);
    give_back(types[i]);
  }
  return adjoin && extent == end;
}

/// Sizes alone do not tell, because an indexed type may permute its elements without a gap. So only types whose making
/// shows that they are plain count as such; all others are packed.
bool layout_is_plain(MPI_Datatype type) {
  Making making;
  Parts parts;
  if (!how_made(type, making)) return false;
  if (making.combiner == MPI_COMBINER_NAMED) return predefined_info(type).contiguous;
  if (making.large) return false;
  if (making.combiner == MPI_COMBINER_STRUCT) return blocks_adjoin(type, making);
  const bool strides = making.combiner == MPI_COMBINER_VECTOR;
  const bool known = strides || making.combiner == MPI_COMBINER_DUP || making.combiner == MPI_COMBINER_CONTIGUOUS;
  if (!known || !parts_of(type, making, parts)) return false;
  const bool gapless = !strides || parts.integers[0] <= 1 || parts.integers[1] == parts.integers[2];
  const bool plain = gapless && layout_is_plain(parts.base);
  give_back(parts.base);
  return plain;
}

/// Finds the element if each type, at every level, is made of one other type.
codec::Element element_within(MPI_Datatype type) {
  Making making;
  Parts parts;
  if (!how_made(type, making)) return codec::Element::unknown;
  if (making.combiner == MPI_COMBINER_NAMED) return element_of_named(type);
  if (making.large || making.types != 1 || !parts_of(type, making, parts)) return codec::Element::unknown;
  const codec::Element element = element_within(parts.base);
  give_back(parts.base);
  return element;
}

void measure(MPI_Datatype type, TypeInfo& info) {
  MPI_Count size = 0;
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lb = 0;
  MPI_Aint true_extent = 0;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent(type, &lb, &extent);
  PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
  info.size_bytes = size;
  info.extent_bytes = extent;
  info.true_lb_bytes = true_lb;
  info.true_extent_bytes = true_extent;
}

/// PMPI_Pack counts in int, so one call packs at most this many elements.
std::int64_t chunk_elements(const TypeInfo& info) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
  return std::max<std::int64_t>(1, most_bytes / std::max<std::int64_t>(1, info.size_bytes));
}

/// Sends to MPI_PROC_NULL, which reads no memory: the library says whether it takes this type in a message at all.
bool committed(MPI_Datatype type) {
  char nothing = 0;
  return PMPI_Send(&nothing, 1, type, MPI_PROC_NULL, 0, comm_of_self()) == MPI_SUCCESS;
}

/// Returns false, and keeps nothing, while the type is not committed.
bool kept_info(MPI_Datatype type, TypeInfo& info) {
  void* kept = nullptr;
  int found = 0;
  PMPI_Type_get_attr(type, keyval, static_cast<void*>(&kept), &found);
  if (found == 0) {
    if (!committed(type)) return false;
    // Several threads may meet a type for the first time at once; the info that one sets must not change while another
    // reads it.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    PMPI_Type_get_attr(type, keyval, static_cast<void*>(&kept), &found);
    if (found == 0) {
      auto fresh = std::make_unique<TypeInfo>();
      measure(type, *fresh);
      fresh->contiguous = layout_is_plain(type);
      if (!fresh->contiguous) fresh->layout = layout_of(type);
      fresh->element = element_within(type);
      PMPI_Type_set_attr(type, keyval, fresh.get());
      kept = fresh.release();
    }
  }
  info = *static_cast<const TypeInfo*>(kept);
  return true;
}

/// A library may refuse the null address that MPI_BOTTOM is, so elements there are described relative to another
/// address.
class FromBottom {
 public:
  FromBottom(int count, MPI_Datatype type) {
    MPI_Aint anchor = 0;
    PMPI_Get_address(&anchor_, &anchor);
    MPI_Aint place = -anchor;
    PMPI_Type_create_hindexed(1, &count, &place, type, &type_);
    PMPI_Type_commit(&type_);
  }
  ~FromBottom() { PMPI_Type_free(&type_); }
  FromBottom(const FromBottom&) = delete;
  FromBottom& operator=(const FromBottom&) = delete;
  [[nodiscard]] void* buffer() { return &anchor_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  std::byte anchor_{};
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

int pack_some(const void* from, int count, MPI_Datatype type, std::byte* to, int bytes) {
  int position = 0;
  if (from != MPI_BOTTOM) return PMPI_Pack(from, count, type, to, bytes, &position, MPI_COMM_SELF);
  FromBottom shifted(count, type);
  return PMPI_Pack(shifted.buffer(), 1, shifted.type(), to, bytes, &position, MPI_COMM_SELF);
}

int unpack_some(const std::byte* from, int bytes, void* to, int count, MPI_Datatype type) {
  int position = 0;
  if (to != MPI_BOTTOM) return PMPI_Unpack(from, bytes, &position, to, count, type, MPI_COMM_SELF);
  FromBottom shifted(count, type);
  return PMPI_Unpack(from, bytes, &position, shifted.buffer(), 1, shifted.type(), MPI_COMM_SELF);
}

/// PMPI_Pack takes no element of more bytes than an int counts.
bool is_long(const TypeInfo& info) { return info.size_bytes > std::numeric_limits<int>::max(); }

/// Copies one element. An allgather of one rank is a copy of any length, for which the library need not make progress.
int copy_one(const void* from, MPI_Datatype from_type, void* to, MPI_Datatype to_type) {
  return PMPI_Allgather(from, 1, from_type, to, 1, to_type, comm_of_self());
}

int pack_long(const void* from, MPI_Datatype type, std::byte* to, std::int64_t bytes) {
  const LongType packed(bytes, MPI_BYTE);
  if (from != MPI_BOTTOM) return copy_one(from, type, to, packed.get());
  FromBottom shifted(1, type);
  return copy_one(shifted.buffer(), shifted.type(), to, packed.get());
}

int unpack_long(const std::byte* from, void* to, MPI_Datatype type, std::int64_t bytes) {
  const LongType packed(bytes, MPI_BYTE);
  if (to != MPI_BOTTOM) return copy_one(from, packed.get(), to, type);
  FromBottom shifted(1, type);
  return copy_one(from, packed.get(), shifted.buffer(), shifted.type());
}

}  // namespace

void prepare_datatypes() { PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_info, &keyval, nullptr); }

void release_datatypes() { PMPI_Type_free_keyval(&keyval); }

bool inspect(MPI_Datatype type, TypeInfo& info) {
  if (type == MPI_DATATYPE_NULL) return false;
  for (const NamedType& named : named_types.last) {
    if (!named.known || named.type != type) continue;
    info = info_of(named);
    return true;
  }
  Making making;
  if (!how_made(type, making)) return false;
  if (making.combiner == MPI_COMBINER_NAMED) {
    info = predefined_info(type);
    return true;
  }
  return kept_info(type, info);
}

int pack(const void* from, std::int64_t count, MPI_Datatype type, const TypeInfo& info, std::byte* to) {
  if (info.layout && from != MPI_BOTTOM) {
    gather(*info.layout, from, count, to);
    return MPI_SUCCESS;
  }
  const std::int64_t step = chunk_elements(info);
  for (std::int64_t i = 0; i < count; i += step) {
    const auto n = static_cast<int>(std::min(step, count - i));
    const std::byte* const here = static_cast<const std::byte*>(from) + i * info.extent_bytes;
    std::byte* const there = to + i * info.size_bytes;
    const int rc = is_long(info) ? pack_long(here, type, there, info.size_bytes)
                                 : pack_some(here, n, type, there, static_cast<int>(n * info.size_bytes));
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int unpack(const std::byte* from, void* to, std::int64_t count, MPI_Datatype type, const TypeInfo& info) {
  if (info.layout && to != MPI_BOTTOM) {
    scatter(*info.layout, from, count, to);
    return MPI_SUCCESS;
  }
  const std::int64_t step = chunk_elements(info);
  for (std::int64_t i = 0; i < count; i += step) {
    const auto n = static_cast<int>(std::min(step, count - i));
    const std::byte* const here = from + i * info.size_bytes;
    std::byte* const there = static_cast<std::byte*>(to) + i * info.extent_bytes;
    const int rc = is_long(info) ? unpack_long(here, there, type, info.size_bytes)
                                 : unpack_some(here, static_cast<int>(n * info.size_bytes), there, n, type);
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

}  // namespace antiphon::mpi
