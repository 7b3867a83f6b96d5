// SPDX-License-Identifier: Apache-2.0
// Replaces what the executor needs of the preload object, for a program that contains the executor: no
// compression, and no groups for multicasts (nobody calls Executor::use_groups()).
#include <mpi.h>

#include <string>

#include "compress/control.hpp"
#include "job/settings.hpp"
#include "multicast/lanes.hpp"

namespace antiphon::mpi {

Framing framing_state;

void warn(const std::string& /*text*/) {}

MulticastLanes::MulticastLanes(const Schedule& schedule, int rank, MulticastGroups& /*groups*/, int senders)
    : schedule_(schedule), rank_(rank), senders_(senders) {}
void MulticastLanes::begin() {}
void MulticastLanes::ready(const Progress::Piece& /*piece*/, std::span<std::byte> /*at*/) {}
bool MulticastLanes::poll(std::int64_t /*patience_ns*/) { return false; }
bool MulticastLanes::next(Progress::Piece& /*piece*/) { return false; }
std::int64_t MulticastLanes::lost_after_ns() const { return 0; }
std::string MulticastLanes::failure() const { return {}; }

}  // namespace antiphon::mpi
