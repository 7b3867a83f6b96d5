// SPDX-License-Identifier: Apache-2.0
#include "call/owned.hpp"

#include "call/significant.hpp"

namespace antiphon::mpi {

OwnedCall::OwnedCall(const Call& given, int rank, int size) : call_(given) {
  const Significant lengths = significant(given, rank, size);
  const bool sends = lengths.send > 0;
  const bool receives = lengths.receive > 0;
  if (is_reduction(given.collective)) kept_.emplace(given.op, given.sendtype);
  else if (sends) call_.sendtype = keep(given.sendtype);
  if (receives) call_.recvtype = keep(given.recvtype);
  call_.sendcounts = keep(given.sendcounts, lengths.send);
  call_.senddispls = keep(given.senddispls, lengths.send);
  call_.recvcounts = keep(given.recvcounts, lengths.receive);
  call_.recvdispls = keep(given.recvdispls, lengths.receive);
  call_.sendtypes = sends ? keep(given.sendtypes, call_.sendcounts, size) : nullptr;
  call_.recvtypes = receives ? keep(given.recvtypes, call_.recvcounts, size) : nullptr;
}

Integers OwnedCall::keep(const Integers& given, int size) {
  if (!given.present() || size == 0) return {};
  auto& copy = numbers_.emplace_back(std::make_unique<long[]>(static_cast<std::size_t>(size)));
  for (int i = 0; i < size; ++i) copy[static_cast<std::size_t>(i)] = given[i];
  return {copy.get()};
}

MPI_Datatype OwnedCall::keep(MPI_Datatype type) {
  TypeInfo info;
  if (!inspect(type, info) || info.predefined) return type;
  return types_.emplace_back(type).get();
}

const MPI_Datatype* OwnedCall::keep(const MPI_Datatype* types, const Integers& counts, int size) {
  if (types == nullptr || !counts.present()) return types;
  auto& list = lists_.emplace_back();
  for (int i = 0; i < size; ++i) {
    const bool as_before = i > 0 && counts[i] > 0 && counts[i - 1] > 0 && types[i] == types[i - 1];
    // An empty block may have any type, or none at all.
    list.push_back(counts[i] == 0 ? MPI_DATATYPE_NULL : as_before ? list.back() : keep(types[i]));
  }
  return list.data();
}

}  // namespace antiphon::mpi
