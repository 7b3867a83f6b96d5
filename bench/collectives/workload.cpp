// SPDX-License-Identifier: Apache-2.0
#include "workload.hpp"

#include <array>
#include <bit>
#include <climits>
#include <stdexcept>

namespace bench {

/// How many blocks a rank has on one side of a call.
enum class Blocks { none, one, all, all_at_root, one_at_root };
/// What a correct output holds.
enum class Result { nothing, moved, sum_of_all, sum_of_my_block, sum_up_to_me, sum_before_me };

struct Kind {
  std::string_view name;
  Blocks input, output;
  Result result;
  int (*call)(Workload&, MPI_Comm, MPI_Request*);  ///< without a request: the blocking form
};

#define EITHER_FORM(blocking, nonblocking, ...) \
  (request == nullptr ? MPI_##blocking(__VA_ARGS__) : MPI_##nonblocking(__VA_ARGS__, request))

/// The calls are in a struct, so that one friend declaration covers them.
struct Calls {
  static int barrier(Workload&, MPI_Comm c, MPI_Request* request) { return EITHER_FORM(Barrier, Ibarrier, c); }
  static int bcast(Workload& w, MPI_Comm c, MPI_Request* request) {
    void* const data = w.rank_ == w.root_ ? w.input_.data() : w.output_.data();
    return EITHER_FORM(Bcast, Ibcast, data, w.count_, w.type_, w.root_, c);
  }
  static int scatter(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Scatter, Iscatter, w.input_.data(), w.count_, w.type_, w.output_.data(), w.count_, w.type_,
                       w.root_, c);
  }
  static int scatterv(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Scatterv, Iscatterv, w.input_.data(), w.counts_.data(), w.offsets_.data(), w.type_,
                       w.output_.data(), w.count_, w.type_, w.root_, c);
  }
  static int gather(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Gather, Igather, w.input_.data(), w.count_, w.type_, w.output_.data(), w.count_, w.type_,
                       w.root_, c);
  }
  static int gatherv(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Gatherv, Igatherv, w.input_.data(), w.count_, w.type_, w.output_.data(), w.counts_.data(),
                       w.offsets_.data(), w.type_, w.root_, c);
  }
  static int allgather(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Allgather, Iallgather, w.input_.data(), w.count_, w.type_, w.output_.data(), w.count_, w.type_,
                       c);
  }
  static int allgatherv(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Allgatherv, Iallgatherv, w.input_.data(), w.count_, w.type_, w.output_.data(), w.counts_.data(),
                       w.offsets_.data(), w.type_, c);
  }
  static int alltoall(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Alltoall, Ialltoall, w.input_.data(), w.count_, w.type_, w.output_.data(), w.count_, w.type_, c);
  }
  static int alltoallv(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Alltoallv, Ialltoallv, w.input_.data(), w.counts_.data(), w.offsets_.data(), w.type_,
                       w.output_.data(), w.counts_.data(), w.offsets_.data(), w.type_, c);
  }
  static int reduce(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Reduce, Ireduce, w.input_.data(), w.output_.data(), w.count_, w.type_, MPI_SUM, w.root_, c);
  }
  static int allreduce(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Allreduce, Iallreduce, w.input_.data(), w.output_.data(), w.count_, w.type_, MPI_SUM, c);
  }
  static int reduce_scatter(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Reduce_scatter, Ireduce_scatter, w.input_.data(), w.output_.data(), w.counts_.data(), w.type_,
                       MPI_SUM, c);
  }
  static int reduce_scatter_block(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Reduce_scatter_block, Ireduce_scatter_block, w.input_.data(), w.output_.data(), w.count_,
                       w.type_, MPI_SUM, c);
  }
  static int scan(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Scan, Iscan, w.input_.data(), w.output_.data(), w.count_, w.type_, MPI_SUM, c);
  }
  static int exscan(Workload& w, MPI_Comm c, MPI_Request* request) {
    return EITHER_FORM(Exscan, Iexscan, w.input_.data(), w.output_.data(), w.count_, w.type_, MPI_SUM, c);
  }
};

namespace {

constexpr Kind kinds[] = {
    {"barrier", Blocks::none, Blocks::none, Result::nothing, Calls::barrier},
    {"bcast", Blocks::one_at_root, Blocks::one, Result::moved, Calls::bcast},
    {"scatter", Blocks::all_at_root, Blocks::one, Result::moved, Calls::scatter},
    {"scatterv", Blocks::all_at_root, Blocks::one, Result::moved, Calls::scatterv},
    {"gather", Blocks::one, Blocks::all_at_root, Result::moved, Calls::gather},
    {"gatherv", Blocks::one, Blocks::all_at_root, Result::moved, Calls::gatherv},
    {"allgather", Blocks::one, Blocks::all, Result::moved, Calls::allgather},
    {"allgatherv", Blocks::one, Blocks::all, Result::moved, Calls::allgatherv},
    {"alltoall", Blocks::all, Blocks::all, Result::moved, Calls::alltoall},
    {"alltoallv", Blocks::all, Blocks::all, Result::moved, Calls::alltoallv},
    {"reduce", Blocks::one, Blocks::one_at_root, Result::sum_of_all, Calls::reduce},
    {"allreduce", Blocks::one, Blocks::one, Result::sum_of_all, Calls::allreduce},
    {"reduce_scatter", Blocks::all, Blocks::one, Result::sum_of_my_block, Calls::reduce_scatter},
    {"reduce_scatter_block", Blocks::all, Blocks::one, Result::sum_of_my_block, Calls::reduce_scatter_block},
    {"scan", Blocks::one, Blocks::one, Result::sum_up_to_me, Calls::scan},
    {"exscan", Blocks::one, Blocks::one, Result::sum_before_me, Calls::exscan},
};

const Kind& find_kind(std::string_view name) {
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind;
  }
  throw std::invalid_argument("no collective named " + std::string(name));
}

bool reduces(const Kind& kind) { return kind.result != Result::nothing && kind.result != Result::moved; }

int block_count(Blocks blocks, int rank, int size, int root) {
  switch (blocks) {
    case Blocks::none: return 0;
    case Blocks::one: return 1;
    case Blocks::all: return size;
    case Blocks::all_at_root: return rank == root ? size : 0;
    case Blocks::one_at_root: return rank == root ? 1 : 0;
  }
  return 0;
}

/// Byte i of the block from `from` to `to`. It differs for every pair, and if pieces of a block are exchanged.
unsigned char moved_byte(int from, int to, std::int64_t i) {
  return static_cast<unsigned char>(from * 131 + to * 31 + i * 7 + (i >> 8) * 13 + (i >> 16) * 5);
}

/// Byte i of the same block as a smooth field of doubles with some noise, which encoding makes about half as long.
unsigned char field_byte(int from, int to, std::int64_t i) {
  constexpr int noise_bits = 24;
  const auto element = static_cast<std::uint64_t>(i) / sizeof(double);
  const auto noise = (element * 0x9e3779b97f4a7c15ULL >> (64 - noise_bits));
  const double value =
      1 + 1e-2 * from + 1e-3 * to + 1e-5 * static_cast<double>(element) + 1e-17 * static_cast<double>(noise << 8);
  const auto bytes = std::bit_cast<std::array<unsigned char, sizeof(double)>>(value);
  return bytes[static_cast<std::uint64_t>(i) % sizeof(double)];
}

/// Element i of block `block` that `rank` contributes: a small whole number, so that a sum is exact in any order.
template <typename T>
T addend(int rank, int block, std::int64_t i) {
  return static_cast<T>((i % 97 + block) * (rank + 1) + rank);
}

/// The sum of the contributions of ranks 0…n−1.
template <typename T>
T sum(int n, int block, std::int64_t i) {
  const std::int64_t ranks = n;
  return static_cast<T>((i % 97 + block) * (ranks * (ranks + 1) / 2) + ranks * (ranks - 1) / 2);
}

template <typename T>
void fill_addends(std::vector<unsigned char>& input, int rank, std::int64_t count) {
  T* data = reinterpret_cast<T*>(input.data());
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(input.size() / sizeof(T)); ++k) {
    data[k] = addend<T>(rank, static_cast<int>(k / count), k % count);
  }
}

template <typename T>
std::int64_t wrong_sums(const std::vector<unsigned char>& output, int ranks, int block) {
  const T* data = reinterpret_cast<const T*>(output.data());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < output.size() / sizeof(T); ++i)
    wrong += data[i] != sum<T>(ranks, block, static_cast<std::int64_t>(i));
  return wrong;
}

}  // namespace

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

bool has_bytes(std::string_view collective) { return find_kind(collective).result != Result::nothing; }

bool fits_int_counts(std::string_view collective, std::int64_t bytes, MPI_Comm comm) {
  int size = 1;
  PMPI_Comm_size(comm, &size);
  const Kind& kind = find_kind(collective);
  const bool with_offsets = collective.ends_with('v') || collective == "reduce_scatter";
  const std::int64_t element = reduces(kind) ? (bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1) : 1;
  return bytes / element * (with_offsets ? size : 1) <= INT_MAX;
}

std::int64_t buffer_bytes(std::string_view collective, std::int64_t bytes, int rank, int size, int root) {
  const Kind& kind = find_kind(collective);
  return bytes * (block_count(kind.input, rank, size, root) + block_count(kind.output, rank, size, root));
}

Workload::Workload(std::string_view collective, std::int64_t bytes, int root, const Manner& manner, MPI_Comm comm)
    : kind_(&find_kind(collective)), count_(static_cast<int>(bytes)), root_(root), manner_(manner), type_(MPI_BYTE) {
  PMPI_Comm_rank(comm, &rank_);
  PMPI_Comm_size(comm, &size_);
  if (reduces(*kind_)) {
    type_ = bytes % 8 == 0 ? MPI_DOUBLE : bytes % 4 == 0 ? MPI_INT : MPI_UNSIGNED_CHAR;
    count_ = static_cast<int>(bytes % 8 == 0 ? bytes / 8 : bytes % 4 == 0 ? bytes / 4 : bytes);
  }
  const std::int64_t block = kind_->result == Result::nothing ? 0 : bytes;
  for (auto* buffer : {&input_, &output_})
    buffer->reserve(
        64);  // reserved so that an empty buffer is not null, because MPICH takes two null pointers for aliases
  input_.resize(static_cast<std::size_t>(block * block_count(kind_->input, rank_, size_, root_)));
  output_.resize(static_cast<std::size_t>(block * block_count(kind_->output, rank_, size_, root_)));
  counts_.assign(static_cast<std::size_t>(size_), count_);
  offsets_.resize(static_cast<std::size_t>(size_));
  for (int i = 0; i < size_; ++i)
    offsets_[static_cast<std::size_t>(i)] = static_cast<int>(static_cast<std::int64_t>(i) * count_);
}

void Workload::prepare() {
  output_.assign(output_.size(), 0xA5);
  if (count_ == 0) return;
  if (type_ == MPI_DOUBLE) return fill_addends<double>(input_, rank_, count_);
  if (type_ == MPI_INT) return fill_addends<int>(input_, rank_, count_);
  if (type_ == MPI_UNSIGNED_CHAR) return fill_addends<unsigned char>(input_, rank_, count_);
  for (std::size_t k = 0; k < input_.size(); ++k) {
    const auto block = static_cast<int>(k / static_cast<std::size_t>(count_));
    // A block of scatter and alltoall is meant for one rank; a block of bcast, gather and allgather is the same for all
    // receivers.
    const int to = kind_->input == Blocks::all || kind_->input == Blocks::all_at_root ? block : 0;
    input_[k] = moved(rank_, to, static_cast<std::int64_t>(k % static_cast<std::size_t>(count_)));
  }
}

unsigned char Workload::moved(int from, int to, std::int64_t i) const {
  return manner_.field ? field_byte(from, to, i) : moved_byte(from, to, i);
}

std::string_view Workload::collective() const { return kind_->name; }

void Workload::call(MPI_Comm comm, bool blocking) {
  if (blocking || !manner_.nonblocking) {
    kind_->call(*this, comm, nullptr);
    return;
  }
  MPI_Request request = start(comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

MPI_Request Workload::start(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  kind_->call(*this, comm, &request);
  return request;
}

std::int64_t Workload::wrong_elements() const {
  if (kind_->result == Result::nothing || count_ == 0) return 0;
  if (kind_->result == Result::moved) {
    if (kind_->name == "bcast" && rank_ == root_) return 0;
    const bool from_many = kind_->output == Blocks::all || kind_->output == Blocks::all_at_root;
    const bool for_me = kind_->input == Blocks::all || kind_->input == Blocks::all_at_root;
    std::int64_t wrong = 0;
    for (std::size_t k = 0; k < output_.size(); ++k) {
      const int from = from_many ? static_cast<int>(k / static_cast<std::size_t>(count_)) : root_;
      wrong += output_[k] !=
               moved(from, for_me ? rank_ : 0, static_cast<std::int64_t>(k % static_cast<std::size_t>(count_)));
    }
    return wrong;
  }
  if (kind_->result == Result::sum_before_me && rank_ == 0) return 0;
  const int ranks = kind_->result == Result::sum_up_to_me    ? rank_ + 1
                    : kind_->result == Result::sum_before_me ? rank_
                                                             : size_;
  const int block = kind_->result == Result::sum_of_my_block ? rank_ : 0;
  if (type_ == MPI_DOUBLE) return wrong_sums<double>(output_, ranks, block);
  if (type_ == MPI_INT) return wrong_sums<int>(output_, ranks, block);
  return wrong_sums<unsigned char>(output_, ranks, block);
}

}  // namespace bench
