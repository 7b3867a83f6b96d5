// SPDX-License-Identifier: Apache-2.0
// One multicast group, as one of its ranks sees it: opened over MPI when it is first used.
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

/// The ranks of a group as one of them sees it.
class MulticastGroup : public OpenGroup {
 public:
  /// `whole`: the communicator's own group, or null for that itself. Members of a smaller one that is made while the
  /// communicator's is open have been seen to hear each other.
  MulticastGroup(MPI_Comm comm, int rank, MulticastRoles roles, const MulticastGroup* whole);
  ~MulticastGroup() override;
  MulticastGroup(const MulticastGroup&) = delete;
  MulticastGroup& operator=(const MulticastGroup&) = delete;

  /// Makes the group if it is not there. Collective over the members; the answer, whether messages go through it, is
  /// the same on all.
  bool open();
  void close() override;
  void abandon() override;
  void drain() override;

  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] const MulticastRoles& roles() const { return roles_; }
  /// The transport's side of it; at leaders while it is open.
  [[nodiscard]] multicast::Group& transport() { return *transport_; }
  /// Why it could not be opened.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Stays open until as many have let go of it: never makes room for others, nor ends with a call.
  void pin() { ++pins_; }
  void unpin() { --pins_; }
  [[nodiscard]] bool pinned() const override { return pins_ > 0; }
  [[nodiscard]] std::uint64_t number() const override { return number_; }
  [[nodiscard]] std::uint64_t last_used() const override { return last_used_; }
  [[nodiscard]] const std::vector<int>& world_members() const override { return world_members_; }
  [[nodiscard]] multicast::Statistics statistics() const override {
    return transport_ ? transport_->statistics() : multicast::Statistics{};
  }

 private:
  MPI_Comm comm_;
  int rank_;
  MulticastRoles roles_;
  const MulticastGroup* whole_;
  bool open_ = false;
  bool refused_ = false;  ///< for good
  int pins_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t last_used_ = 0;
  std::string reason_;
  std::vector<int> world_members_;
  std::unique_ptr<multicast::Group> transport_;
};

}  // namespace antiphon::mpi
