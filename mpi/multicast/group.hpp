// SPDX-License-Identifier: Apache-2.0
// A MulticastGroup is one multicast group as one of its ranks sees it; its first use opens it over MPI.
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

/// Holds the ranks of a group as one of them sees it.
class MulticastGroup : public OpenGroup {
 public:
  /// `whole` is the communicator's own group, or null if this is that group. If the communicator's group is open, its
  /// members are known to hear each other, so a smaller group needs no trial.
  MulticastGroup(MPI_Comm comm, int rank, MulticastRoles roles, const MulticastGroup* whole);
  ~MulticastGroup() override;
  MulticastGroup(const MulticastGroup&) = delete;
  MulticastGroup& operator=(const MulticastGroup&) = delete;

  /// Makes the group if it does not exist. Collective over the members; the answer, whether messages go through the
  /// group, is the same on all of them.
  bool open();
  void close() override;
  void abandon() override;
  void drain() override;

  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] const MulticastRoles& roles() const { return roles_; }
  /// Returns the transport's group; only leaders have it, and only while it is open.
  [[nodiscard]] multicast::Group& transport() { return *transport_; }
  /// Returns why the group could not be opened.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Keeps the group open until every pin is undone: it neither makes room for others nor ends with a call.
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
  bool refused_ = false;  ///< permanently
  int pins_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t last_used_ = 0;
  std::string reason_;
  std::vector<int> world_members_;
  std::unique_ptr<multicast::Group> transport_;
};

}  // namespace antiphon::mpi
