// SPDX-License-Identifier: Apache-2.0
// Compression keeps this with a communicator: its peers, both ends of each link, the receives that are under way, and
// messages that a probe had to take out of the library.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "antiphon/codec.hpp"
#include "compress/message_counts.hpp"
#include "compress/mutex.hpp"
#include "compress/policy.hpp"
#include "compress/pool.hpp"

namespace antiphon::mpi {

struct Receive;

/// An OutLink is the sending end towards one peer. Its lock covers encoding and handing over to the library, so both
/// have one order.
struct OutLink {
  Mutex mutex;
  std::unique_ptr<codec::Encoder> encoder;
  std::unordered_map<std::uint64_t, Policy> policies;  ///< by tag and size
  bool near = false;                                   ///< the peer is on this node
  bool remembers = true;                               ///< messages may build on earlier ones
  std::size_t reserved_bytes = 0;                      ///< memory reserved for kept messages to that process
  MessageCounts counts;
};

codec::LinkOptions link_options(std::size_t history_bytes);

/// An InLink is the receiving end from one peer.
struct InLink {
  Mutex mutex;
  codec::Decoder decoder;
  bool near = false;  ///< the peer is on this node
  MessageCounts counts;
};

/// Holds a message that a probe took out of the library: a frame, to learn the message's length, or an earlier one of
/// the same sender, which must stay before that.
struct Extracted {
  int source = 0;
  int tag = 0;
  std::int64_t bytes = 0;
  Buffer data;                              ///< of a frame: as it travels; of a decoded message: the program's
  std::uint64_t ticket = 0;                 ///< its place among the receives
  bool ready = true;                        ///< its length is known: a probe may report it
  MPI_Message matched = MPI_MESSAGE_NULL;   ///< not received yet: the sender may wait for that
  MPI_Request arriving = MPI_REQUEST_NULL;  ///< of a frame: complete if it is ready
  int error = MPI_SUCCESS;                  ///< why there is no data
  [[nodiscard]] bool is_decoded() const { return matched == MPI_MESSAGE_NULL && arriving == MPI_REQUEST_NULL; }
  [[nodiscard]] bool suits(int from, int with_tag) const {
    return (from == MPI_ANY_SOURCE || from == source) && (with_tag == MPI_ANY_TAG || with_tag == tag);
  }
};

class Messages : public std::enable_shared_from_this<Messages> {
 public:
  explicit Messages(MPI_Comm comm);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// Returns a communicator's messages, made at its first message. Returns null, on all its ranks alike, if messages
  /// are not framed because some process in it belongs to another job.
  static Messages* of(MPI_Comm comm);
  /// Returns them only if they have been made.
  static std::shared_ptr<Messages> existing(MPI_Comm comm);
  static void prepare();
  static void release();
  /// Sums up what went over a communicator: links to other nodes, and within the node, both directions.
  struct Sum {
    std::string label;
    MessageCounts far, near;
  };
  Sum sum();
  /// Returns the sums of every communicator that exists or has existed.
  static std::vector<Sum> sums();

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  /// Tells whether the library takes a receive or probe with this source and tag. It reports others to the program's
  /// error handler, which may never return, so no lock may be held then.
  [[nodiscard]] bool may_bring(int source, int tag) const;
  [[nodiscard]] int peers() const { return static_cast<int>(world_of_peer_.size()); }
  /// Reads what the program promises of its messages here (MPI-4's info keys mpi_assert_…).
  void read_promises();
  /// Tells whether no message of this process is framed, because a frame would break such a promise.
  [[nodiscard]] bool sends_plain() const { return sends_plain_.load(std::memory_order_relaxed); }
  /// Returns the tag by which messages that come before one with this tag are found.
  [[nodiscard]] int tag_before(int tag) const {
    return no_any_tag_.load(std::memory_order_relaxed) ? tag : MPI_ANY_TAG;
  }
  /// Returns the peer's rank in MPI_COMM_WORLD.
  [[nodiscard]] int world_rank(int peer) const { return world_of_peer_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const std::string& label() const { return label_; }
  OutLink& to(int peer);
  InLink& from(int peer);

  /// A receive holds this while it looks at `extracted` and is then handed to the library, so that no message slips in
  /// between.
  Mutex matching;
  std::list<Extracted> extracted;
  std::atomic<int> extracted_count{0};
  std::list<Receive*> under_way;  ///< receives, in the order in which they were posted; under `matching`
  std::uint64_t next_ticket = 0;

 private:
  [[nodiscard]] bool is_near(int peer) const;

  MPI_Comm comm_;
  bool eligible_ = false;
  std::atomic<bool> sends_plain_{false};
  std::atomic<bool> no_any_tag_{false};
  std::string label_;
  std::vector<int> world_of_peer_;
  Mutex links_mutex_;
  std::vector<std::unique_ptr<OutLink>> out_;
  std::vector<std::unique_ptr<InLink>> in_;
};

}  // namespace antiphon::mpi
