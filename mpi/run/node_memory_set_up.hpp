// SPDX-License-Identifier: Apache-2.0
// The ranks of a node agree on the memory that they share, without waiting for each other: the lowest one makes the
// segment and tells the others where it is, and all tell it what they found possible.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "run/node_memory.hpp"
#include "shm/segment.hpp"

namespace antiphon::mpi {

/// Collective over the ranks of this rank's node; the communicator's error handler must be MPI_ERRORS_RETURN.
///
///     while (!set_up.advance()) …      // beside other work
///     memory = set_up.take();
class NodeMemorySetUp {
 public:
  /// Nodes are given by rank. Messages from `least_fetched_bytes` on are copied once, by the system, where that is
  /// possible.
  NodeMemorySetUp(MPI_Comm comm, int rank, const std::vector<int>& node_of_rank, std::size_t least_fetched_bytes);
  NodeMemorySetUp(const NodeMemorySetUp&) = delete;
  NodeMemorySetUp& operator=(const NodeMemorySetUp&) = delete;

  /// Advances as far as it can without waiting; returns whether it has come to its end.
  bool advance();
  /// Returns the memory, at the end. Null, on all ranks of the node alike: there is no other rank, or they cannot share
  /// memory.
  std::unique_ptr<NodeMemory> take();

 private:
  /// Reading this from another process shows that its memory can be read, and that it is that process.
  struct Mark {
    std::uint64_t number = 0;
  };
  /// What a rank tells the others about itself.
  struct Hello {
    std::int64_t process = 0;
    std::int64_t parent = 0;
    std::uint64_t mark_address = 0;
    Mark mark;
  };
  /// What a rank found possible, and then what all did.
  struct Possible {
    std::int32_t shares = 0;   ///< the segment is mapped
    std::int32_t reads = 0;    ///< all others' memory can be read
    std::int32_t lets_in = 0;  ///< it can let more processes read its own
  };
  /// Where the system asks each rank whom it lets in, ranks do so, and find out once more what is possible.
  enum class Stage { hello, others, segment, possible, common, let_in, all_let_in, done };

  [[nodiscard]] bool leads() const { return self_ == 0; }
  [[nodiscard]] bool can_read_all() const;
  [[nodiscard]] bool tries_again() const;
  void begin_stage();
  void say_hello();
  void find_out();
  void sum_up();
  void let_others_in();
  void collect(void* list, std::size_t entry_bytes);
  void tell(void* data, std::size_t bytes);
  void post(void* data, std::size_t bytes, int peer, bool sends);

  MPI_Comm comm_;
  std::size_t least_fetched_bytes_;
  std::vector<int> members_;  ///< ranks on this node
  std::vector<int> index_of_rank_;
  int self_;  ///< index
  shm::Layout layout_;
  shm::Segment segment_;
  shm::SegmentAddress address_;
  Mark mark_;
  std::vector<Hello> hellos_;
  std::vector<Possible> possible_;
  Possible common_;
  std::int32_t has_let_in_ = 0;
  Stage stage_ = Stage::hello;
  std::vector<MPI_Request> requests_;
  bool failed_ = false;
};

}  // namespace antiphon::mpi
