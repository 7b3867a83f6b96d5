// SPDX-License-Identifier: Apache-2.0
// From a call's arguments to a problem in bytes, and to the memory that a schedule works on.
#pragma once

#include <functional>
#include <vector>

#include "call/call.hpp"
#include "call/datatype.hpp"
#include "entry/comm_state.hpp"

namespace antiphon::mpi {

/// One side of a call: where the program's data is. `blocks` of them: a number for each rank, or one.
struct Side {
  std::byte* buffer = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  TypeInfo info;
  std::int64_t count = 0;   ///< elements of each block
  Integers counts, displs;  ///< where blocks differ
  std::int64_t blocks = 0;
  bool used = false;  ///< this rank has this side in this call
  /// alltoallw: a type for each block, displacements in bytes. Of `info` only `contiguous` means something then: all
  /// blocks are.
  const MPI_Datatype* types = nullptr;
  std::vector<TypeInfo> infos;

  [[nodiscard]] std::int64_t block_count(std::int64_t i) const { return counts.present() ? counts[i] : count; }
  /// In elements; not of alltoallw.
  [[nodiscard]] std::int64_t block_place(std::int64_t i) const { return displs.present() ? displs[i] : i * count; }
  [[nodiscard]] const TypeInfo& block_info(std::int64_t i) const {
    return types == nullptr ? info : infos[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] MPI_Datatype block_type(std::int64_t i) const { return types == nullptr ? type : types[i]; }
  [[nodiscard]] std::int64_t block_bytes(std::int64_t i) const { return block_count(i) * block_info(i).size_bytes; }
  [[nodiscard]] std::int64_t offset_bytes(std::int64_t i) const {
    return types == nullptr ? block_place(i) * info.extent_bytes : displs[i];
  }
};

/// What a call comes to. Filled without communication and, for a repeated call, without allocation.
struct Description {
  Collective collective{};
  Side input, output;
  bool in_place = false;
  std::int64_t block_bytes = 0;  ///< for the choice: see Question::bytes
  std::int64_t element_bytes = 1;
  bool commutative = true;
  std::int64_t own_bytes = 0;  ///< for the summary: what this rank hands in or gets

  /// Elements that are reduced where they lie, with gaps between them: such data cannot be encoded.
  [[nodiscard]] bool has_gaps() const {
    const TypeInfo& info = input.used ? input.info : output.info;
    return is_reduction(collective) && info.size_bytes != info.extent_bytes;
  }
};

/// `call` is no neighbour collective (Neighbours::spread).
/// False where the call must be left to the library: wrong or unusual arguments, nothing to move. `state` gives rank
/// and size.
bool describe(const Call& call, const CommState& state, Description& d);

/// The description as a problem for builders. For alltoall(v) in place, as one that is not.
void make_problem(const Call& call, const Description& d, CommState& state, Problem& problem);

/// scatterv, gatherv: the root tells all ranks the sizes of all blocks. Returns an MPI error code.
int share_counts(Problem& problem, MPI_Comm comm);
/// The same with the root's sizes told by `tell`, which returns an MPI error code.
int share_counts(Problem& problem, const std::function<int(std::int64_t* sizes)>& tell);

/// The memory for a plan's schedule; packs what does not lie plainly. finish() unpacks. Both return MPI error codes.
class Workspace {
 public:
  Workspace(const Call& call, const Description& d, const Problem& problem, Staging& staging);
  int prepare(std::int64_t scratch_bytes);
  int finish();
  [[nodiscard]] const Binding& binding() const { return binding_; }
  [[nodiscard]] const std::byte* input() const { return binding_.base[static_cast<std::size_t>(Space::input)]; }
  [[nodiscard]] std::byte* output() const { return binding_.base[static_cast<std::size_t>(Space::output)]; }

 private:
  int prepare_reduction(std::int64_t scratch_bytes);
  int place_input();
  int place_output();
  int pack_block(const Side& side, int block, std::byte* to) const;

  const Call& call_;
  const Description& d_;
  const Problem& problem_;
  Staging& state_;
  Binding binding_;
  bool unpack_ = false;
};

}  // namespace antiphon::mpi
