// SPDX-License-Identifier: Apache-2.0
// How the members of a group open it together, by messages on Antiphon's own communicator.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"
#include "multicast/groups.hpp"

namespace antiphon::mpi {

/// The most that is waited for members that do not answer, at opening and closing.
inline constexpr double multicast_patience_s = 8;

/// All groups that are open on this rank. Thread-safe.
namespace multicast_table {
int open_count();
/// The one whose last use is longest ago, of those whose members are all among these and that may be closed. Or null.
MulticastGroup* oldest_within(const std::vector<int>& world_members);
MulticastGroup* find(std::uint64_t number);
void opened(MulticastGroup& group);
void left(MulticastGroup& group);
void refused(const std::string& reason);
void evicted();
std::vector<MulticastGroup*> all();
}  // namespace multicast_table

/// One opening. The first member coordinates: every step gathers something from all members there, and tells all what
/// came of it. So whatever goes wrong anywhere, all come to the same end.
class MulticastOpening {
 public:
  explicit MulticastOpening(MulticastGroup& group);
  /// Opens the group, or sets the reason why not.
  void run();
  /// Returns when all members have called it.
  void barrier();

 private:
  using Bytes = std::vector<std::byte>;

  /// At the coordinator what all members gave, by place; elsewhere nothing.
  std::vector<Bytes> gather(const Bytes& own);
  /// The coordinator's bytes, on all members.
  Bytes share(Bytes bytes);
  void send(const Bytes& bytes, int member);
  Bytes receive(int member);
  /// Whether no member has anything against it; if one has, the reason is what the first of them says.
  bool agree(const std::string& objection);

  bool make_room();
  bool gather_addresses(std::vector<std::vector<multicast::Address>>& all);
  bool join(const std::vector<std::vector<multicast::Address>>& all);
  /// Every leader sends some packets that nobody repairs; whether all others get any.
  std::string try_out(std::uint32_t run);
  bool all_hear_all();
  [[nodiscard]] bool coordinates() const;

  MulticastGroup& group_;
  const MulticastRoles& roles_;
  bool failed_ = false;  ///< MPI did
};

}  // namespace antiphon::mpi
