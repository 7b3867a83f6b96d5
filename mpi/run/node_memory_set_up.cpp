// SPDX-License-Identifier: Apache-2.0
#include "run/node_memory_set_up.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "antiphon/index.hpp"
#include "run/library_progress.hpp"
#include "shm/process.hpp"

namespace antiphon::mpi {

namespace {

/// Messages of a stage have this tag and its number. These lie above those of all blocking calls and below those of
/// operations.
constexpr int first_tag = 32010;

std::vector<int> ranks_on_node_of(int rank, const std::vector<int>& node_of_rank) {
  std::vector<int> found;
  for (std::size_t r = 0; r < node_of_rank.size(); ++r) {
    if (node_of_rank[r] == node_of_rank[at(rank)]) found.push_back(static_cast<int>(r));
  }
  return found;
}

}  // namespace

NodeMemorySetUp::NodeMemorySetUp(MPI_Comm comm, int rank, const std::vector<int>& node_of_rank,
                                 std::size_t least_fetched_bytes)
    : comm_(comm), least_fetched_bytes_(least_fetched_bytes), members_(ranks_on_node_of(rank, node_of_rank)),
      index_of_rank_(node_of_rank.size(), -1), layout_(shm::Layout::for_ranks(static_cast<int>(members_.size()))),
      hellos_(members_.size()), possible_(members_.size()) {
  for (std::size_t i = 0; i < members_.size(); ++i) index_of_rank_[at(members_[i])] = static_cast<int>(i);
  self_ = index_of_rank_[at(rank)];
  if (members_.size() < 2) stage_ = Stage::done;
}

bool NodeMemorySetUp::advance() {
  while (std::all_of(requests_.begin(), requests_.end(), [](MPI_Request& request) { return is_over(request); })) {
    requests_.clear();
    if (stage_ == Stage::let_in && !tries_again()) stage_ = Stage::done;
    if (stage_ == Stage::done) return true;
    begin_stage();
    stage_ = stage_ == Stage::all_let_in ? Stage::possible : static_cast<Stage>(static_cast<int>(stage_) + 1);
  }
  return false;
}

void NodeMemorySetUp::begin_stage() {
  switch (stage_) {
    case Stage::hello: return say_hello();
    case Stage::others: return tell(hellos_.data(), sizeof(Hello) * hellos_.size());
    case Stage::segment: return tell(&address_, sizeof address_);
    case Stage::possible: return find_out();
    case Stage::common: return sum_up();
    case Stage::let_in: return let_others_in();
    case Stage::all_let_in: return tell(&has_let_in_, sizeof has_let_in_);
    case Stage::done: return;
  }
}

void NodeMemorySetUp::say_hello() {
  mark_.number = static_cast<std::uint64_t>(getpid()) * 0x9e3779b97f4a7c15U + reinterpret_cast<std::uintptr_t>(this);
  hellos_[at(self_)] = {getpid(), getppid(), reinterpret_cast<std::uintptr_t>(&mark_), mark_};
  if (leads()) segment_ = shm::Segment::make(layout_.bytes(), layout_.ranks);
  address_ = segment_.address();
  if (leads() && segment_.empty()) address_.file = -1;
  collect(hellos_.data(), sizeof(Hello));
}

void NodeMemorySetUp::find_out() {
  if (!leads() && address_.file >= 0 && segment_.empty())
    segment_ = shm::Segment::open(address_, layout_.bytes(), layout_.ranks);
  const char* const root = std::getenv("ANTIPHON_SYSTEM_ROOT");
  const bool lets_in = has_let_in_ == 0 && shm::can_let_in_more(root == nullptr ? "" : root);
  possible_[at(self_)] = {segment_.empty() ? 0 : 1, can_read_all() ? 1 : 0, lets_in ? 1 : 0};
  collect(possible_.data(), sizeof(Possible));
}

void NodeMemorySetUp::sum_up() {
  common_ = {1, 1, 0};
  for (const Possible& one : possible_)
    common_ = {std::min(common_.shares, one.shares), std::min(common_.reads, one.reads),
               std::max(common_.lets_in, one.lets_in)};
  tell(&common_, sizeof common_);
}

bool NodeMemorySetUp::tries_again() const {
  return least_fetched_bytes_ != NodeMemory::never_fetched_bytes && common_.shares != 0 && common_.reads == 0 &&
         common_.lets_in != 0;
}

void NodeMemorySetUp::let_others_in() {
  std::vector<pid_t> parents;
  for (const Hello& hello : hellos_) parents.push_back(static_cast<pid_t>(hello.parent));
  shm::let_in(shm::readers_among(parents));
  has_let_in_ = 1;
  // The answer to all comes after the last of these, so nobody reads too early.
  collect(possible_.data(), sizeof(Possible));
}

std::unique_ptr<NodeMemory> NodeMemorySetUp::take() {
  segment_.close_file();
  if (members_.size() < 2 || common_.shares == 0 || failed_) return nullptr;
  shm::Messenger::Terms terms{self_, common_.reads != 0 ? least_fetched_bytes_ : NodeMemory::never_fetched_bytes, {}};
  for (const Hello& hello : hellos_) terms.processes.push_back(static_cast<pid_t>(hello.process));
  return std::unique_ptr<NodeMemory>(
      new NodeMemory(std::move(segment_), layout_, std::move(terms), std::move(index_of_rank_)));
}

bool NodeMemorySetUp::can_read_all() const {
  return std::all_of(hellos_.begin(), hellos_.end(), [](const Hello& hello) {
    Mark found;
    return shm::read_memory(static_cast<pid_t>(hello.process), hello.mark_address, &found, sizeof found) &&
           found.number == hello.mark.number;
  });
}

/// The lowest rank gets each member's entry of a list.
void NodeMemorySetUp::collect(void* list, std::size_t entry_bytes) {
  const int end = leads() ? static_cast<int>(members_.size()) : self_ + 1;
  for (int i = leads() ? 1 : self_; i < end; ++i) {
    std::byte* const entry = static_cast<std::byte*>(list) + at(i) * entry_bytes;
    post(entry, entry_bytes, leads() ? members_[at(i)] : members_.front(), !leads());
  }
}

/// All get what the lowest rank has.
void NodeMemorySetUp::tell(void* data, std::size_t bytes) {
  if (!leads()) return post(data, bytes, members_.front(), false);
  for (std::size_t i = 1; i < members_.size(); ++i) post(data, bytes, members_[i], true);
}

void NodeMemorySetUp::post(void* data, std::size_t bytes, int peer, bool sends) {
  const auto count = static_cast<int>(bytes);
  const int tag = first_tag + static_cast<int>(stage_);
  requests_.push_back(MPI_REQUEST_NULL);
  const int rc = sends ? PMPI_Isend(data, count, MPI_BYTE, peer, tag, comm_, &requests_.back())
                       : PMPI_Irecv(data, count, MPI_BYTE, peer, tag, comm_, &requests_.back());
  if (rc != MPI_SUCCESS) failed_ = true;
}

}  // namespace antiphon::mpi
