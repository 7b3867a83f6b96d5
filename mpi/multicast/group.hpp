// SPDX-License-Identifier: Apache-2.0
// A MulticastGroup is one multicast group as one of its ranks sees it; its first use opens it over MPI.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "antiphon/multicast.hpp"
#include "multicast/open_groups.hpp"
#include "multicast/roles.hpp"

namespace antiphon::mpi {

/// Holds the ranks of a group as one of them sees it.
class MulticastGroup {
 public:
  /// `whole` is the communicator's own group, or null if this is that group. If the communicator's group has been open,
  /// its members are known to hear each other, so a smaller group needs no trial.
  MulticastGroup(MPI_Comm comm, int rank, MulticastRoles roles, const MulticastGroup* whole);
  MulticastGroup(const MulticastGroup&) = delete;
  MulticastGroup& operator=(const MulticastGroup&) = delete;

  /// Makes the group if it does not exist. Collective over the members; the answer, whether messages go through the
  /// group, is the same on all of them.
  bool open();
  /// Does the same, and keeps the group open until end_run() if the answer is yes.
  bool begin_run();
  void end_run() { group_->end_run(); }
  /// Tells whether the group was ever open, and opens it if not; so the answer does not depend on who was closed for
  /// others meanwhile.
  bool works() { return worked_ || open(); }
  /// Waits until no member needs anything from another, and leaves. Collective over the members.
  void close();

  /// Tells whether members ever met to open the group; the same on all of them.
  [[nodiscard]] bool met() const { return met_; }
  [[nodiscard]] bool is_open() const { return group_->is_open(); }
  [[nodiscard]] const MulticastRoles& roles() const { return roles_; }
  /// Returns the transport's group, which leaders have during a run.
  [[nodiscard]] multicast::Group& transport() { return group_->transport(); }
  /// Returns why the group could not be opened.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const std::shared_ptr<OpenGroup>& state() const { return group_; }

 private:
  [[nodiscard]] std::string why_never() const;
  bool meet();

  MPI_Comm comm_;
  int rank_;
  MulticastRoles roles_;
  const MulticastGroup* whole_;
  bool met_ = false;
  bool worked_ = false;
  bool refused_ = false;  ///< permanently
  std::string reason_;
  std::shared_ptr<OpenGroup> group_;
};

}  // namespace antiphon::mpi
