// SPDX-License-Identifier: Apache-2.0
// How the members of a group open it together, by messages on Antiphon's own communicator.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"
#include "multicast/roles.hpp"

namespace antiphon::mpi {

/// One opening. The first member coordinates: every step gathers something from all members there, and tells all what
/// came of it. So whatever goes wrong anywhere, all come to the same end.
class MulticastOpening {
 public:
  /// The ranks that open a group. What is referred to must outlive the opening.
  struct Members {
    MPI_Comm comm;  ///< Antiphon's own
    int rank;
    const MulticastRoles& roles;
    const std::vector<int>& world_members;
  };
  struct Result {
    bool open = false;
    bool refused = false;  ///< for good
    std::string reason;    ///< why it is not open
    std::uint64_t number = 0;
    std::unique_ptr<multicast::Group> transport;  ///< at leaders, where it is open
  };

  explicit MulticastOpening(const Members& members) : members_(members), roles_(members.roles) {}
  /// Opens the group. `heard`: the members have been seen to hear each other.
  Result run(bool heard);
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
  bool connect();
  bool gather_addresses(std::vector<std::vector<multicast::Address>>& all);
  bool join(const std::vector<std::vector<multicast::Address>>& all);
  /// Every leader sends some packets that nobody repairs; whether all others get any.
  std::string try_out(std::uint32_t run);
  bool all_hear_all();
  [[nodiscard]] bool coordinates() const;

  Members members_;
  const MulticastRoles& roles_;
  Result result_;
  bool failed_ = false;  ///< MPI did
};

}  // namespace antiphon::mpi
