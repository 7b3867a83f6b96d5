// SPDX-License-Identifier: Apache-2.0
#include "run/node_memory.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "job/progress.hpp"
#include "shm/process.hpp"

namespace antiphon::mpi {

namespace {

/// Messages of the agreement have these tags, above those of all blocking calls and below those of operations.
constexpr int first_tag = 32010;

/// Reading this from another process shows that its memory can be read, and that it is that process.
struct Mark {
  std::uint64_t number = 0;
};

/// What a rank tells the others about itself.
struct Hello {
  std::int64_t process = 0;
  std::uint64_t mark_address = 0;
  Mark mark;
};

/// What a rank found possible, and then what all did.
struct Possible {
  std::int32_t shares = 0;  ///< the segment is mapped
  std::int32_t reads = 0;   ///< all others' memory can be read
};

/// Agrees on the memory among a node's ranks: the lowest makes the segment, and tells the others where it is.
class Agreement {
 public:
  Agreement(MPI_Comm comm, std::vector<int> members, int self)
      : comm_(comm), members_(std::move(members)), self_(self), hellos_(members_.size()) {}

  /// Returns nothing, on all ranks alike, if the ranks cannot share memory.
  std::optional<shm::Messenger::Terms> reach(const shm::Layout& layout, std::size_t least_fetched_bytes,
                                             shm::Segment& segment) {
    mark_.number = static_cast<std::uint64_t>(getpid()) * 0x9e3779b97f4a7c15U + reinterpret_cast<std::uintptr_t>(this);
    hellos_[at(self_)] = {getpid(), reinterpret_cast<std::uintptr_t>(&mark_), mark_};
    if (leads()) segment = shm::Segment::make(layout.bytes());
    shm::SegmentAddress address = segment.address();
    if (leads() && segment.empty()) address.file = -1;
    collect(hellos_.data(), sizeof(Hello), 0);
    tell(hellos_.data(), sizeof(Hello) * hellos_.size(), 1);
    tell(&address, sizeof address, 2);
    if (!leads() && address.file >= 0) segment = shm::Segment::open(address, layout.bytes());
    std::vector<Possible> all(members_.size());
    all[at(self_)] = {segment.empty() ? 0 : 1, can_read_all() ? 1 : 0};
    collect(all.data(), sizeof(Possible), 3);
    Possible common{1, 1};
    for (const Possible& one : all) common = {std::min(common.shares, one.shares), std::min(common.reads, one.reads)};
    tell(&common, sizeof common, 4);
    segment.close_file();
    if (common.shares == 0 || failed_) return std::nullopt;
    shm::Messenger::Terms terms{self_, common.reads != 0 ? least_fetched_bytes : NodeMemory::never_fetched_bytes, {}};
    for (const Hello& hello : hellos_) terms.processes.push_back(static_cast<pid_t>(hello.process));
    return terms;
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] bool leads() const { return self_ == 0; }

  [[nodiscard]] bool can_read_all() const {
    return std::all_of(hellos_.begin(), hellos_.end(), [](const Hello& hello) {
      Mark found;
      return shm::read_memory(static_cast<pid_t>(hello.process), hello.mark_address, &found, sizeof found) &&
             found.number == hello.mark.number;
    });
  }

  /// The lowest rank gets each member's entry of a list.
  void collect(void* list, std::size_t entry_bytes, int step) {
    std::vector<MPI_Request> requests;
    for (int i = leads() ? 1 : self_; i < (leads() ? static_cast<int>(members_.size()) : self_ + 1); ++i) {
      std::byte* const entry = static_cast<std::byte*>(list) + at(i) * entry_bytes;
      post(requests, entry, entry_bytes, leads() ? members_[at(i)] : members_.front(), step, !leads());
    }
    wait(requests);
  }
  /// All get what the lowest rank has.
  void tell(void* data, std::size_t bytes, int step) {
    std::vector<MPI_Request> requests;
    if (!leads()) post(requests, data, bytes, members_.front(), step, false);
    for (std::size_t i = 1; leads() && i < members_.size(); ++i) post(requests, data, bytes, members_[i], step, true);
    wait(requests);
  }

  void post(std::vector<MPI_Request>& requests, void* data, std::size_t bytes, int peer, int step, bool sends) {
    const auto count = static_cast<int>(bytes);
    requests.push_back(MPI_REQUEST_NULL);
    const int rc = sends ? PMPI_Isend(data, count, MPI_BYTE, peer, first_tag + step, comm_, &requests.back())
                         : PMPI_Irecv(data, count, MPI_BYTE, peer, first_tag + step, comm_, &requests.back());
    if (rc != MPI_SUCCESS) failed_ = true;
  }
  void wait(std::vector<MPI_Request>& requests) {
    int done = 0;
    while (done == 0) {
      if (PMPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
        failed_ = true;
        return;
      }
      if (done == 0 && operations_under_way()) make_progress();
      if (done == 0) sched_yield();
    }
  }

  MPI_Comm comm_;
  std::vector<int> members_;  ///< ranks on this node
  int self_;                  ///< index
  std::vector<Hello> hellos_;
  Mark mark_;
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<NodeMemory> NodeMemory::set_up(MPI_Comm comm, const std::vector<int>& node_of_rank,
                                               std::size_t least_fetched_bytes) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  std::vector<int> members;
  std::vector<int> index_of_rank(node_of_rank.size(), -1);
  for (std::size_t r = 0; r < node_of_rank.size(); ++r) {
    if (node_of_rank[r] != node_of_rank[static_cast<std::size_t>(rank)]) continue;
    index_of_rank[r] = static_cast<int>(members.size());
    members.push_back(static_cast<int>(r));
  }
  if (members.size() < 2) return nullptr;
  const shm::Layout layout = shm::Layout::for_ranks(static_cast<int>(members.size()));
  shm::Segment segment;
  auto terms = Agreement(comm, std::move(members), index_of_rank[static_cast<std::size_t>(rank)])
                   .reach(layout, least_fetched_bytes, segment);
  if (!terms) return nullptr;
  return std::unique_ptr<NodeMemory>(
      new NodeMemory(std::move(segment), layout, std::move(*terms), std::move(index_of_rank)));
}

int NodeMemory::error_of_loss() {
  static const int code = []() -> int {
    int fresh = MPI_ERR_OTHER;
    if (PMPI_Add_error_code(MPI_ERR_OTHER, &fresh) != MPI_SUCCESS) return MPI_ERR_OTHER;
    PMPI_Add_error_string(fresh,
                          "messages through shared memory are lost: a rank of this node has ended, or its "
                          "memory cannot be read any more");
    return fresh;
  }();
  return code;
}

}  // namespace antiphon::mpi
