// SPDX-License-Identifier: Apache-2.0
// The members of a group open it together, by messages on Antiphon's own communicator.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"
#include "multicast/open_groups.hpp"
#include "multicast/roles.hpp"

namespace antiphon::mpi {

/// Performs one opening. The first member coordinates: every step gathers something there from all members and tells
/// all of them the result. So all members reach the same outcome, whatever goes wrong anywhere.
class MulticastOpening {
 public:
  /// Holds the ranks that open a group. The objects that it refers to must outlive the opening.
  struct Members {
    MPI_Comm comm;  ///< Antiphon's own
    int rank;
    const MulticastRoles& roles;
    OpenGroup& group;
  };
  struct Result {
    bool open = false;
    bool refused = false;                         ///< permanently
    std::string reason;                           ///< why it is not open
    std::unique_ptr<multicast::Group> transport;  ///< at leaders, if it is open
  };

  explicit MulticastOpening(const Members& members) : members_(members), roles_(members.roles) {}
  /// Opens the group. `heard` says that the members are known to hear each other.
  Result run(bool heard);
  /// Returns when all members have called it.
  void barrier();

 private:
  using Bytes = std::vector<std::byte>;

  /// Returns, at the coordinator, what all members gave, by place; returns nothing on the others.
  std::vector<Bytes> gather(const Bytes& own);
  /// Returns the coordinator's bytes on all members.
  Bytes share(Bytes bytes);
  void send(const Bytes& bytes, int member);
  Bytes receive(int member);
  /// Tells whether no member objects; otherwise the reason is the first member's objection.
  bool agree(const std::string& objection);

  bool make_room();
  bool close_other(std::uint64_t number);
  bool connect();
  bool gather_addresses(std::vector<std::vector<multicast::Address>>& all);
  bool join(const std::vector<std::vector<multicast::Address>>& all);
  /// Makes every leader send some short and some long packets that nobody repairs. Returns what is missing, or an empty
  /// text if all others get some of both.
  std::string try_out(std::uint32_t trial);
  bool all_hear_all();
  [[nodiscard]] bool coordinates() const;

  Members members_;
  const MulticastRoles& roles_;
  Result result_;
  bool failed_ = false;  ///< whether MPI has failed
};

}  // namespace antiphon::mpi
