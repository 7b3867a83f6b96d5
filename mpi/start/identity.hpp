// SPDX-License-Identifier: Apache-2.0
// Ranks whose objects have one identity speak the same protocol and make the same choices.
#pragma once

#include <string>

namespace antiphon::mpi {

/// Returns "PROTOCOL/ABI/VERSION/BUILD" of this object, without blanks and equals signs, which launchers give a
/// meaning.
const std::string& identity();

/// Returns an identity in words, for a message.
std::string describe_identity(const std::string& identity);

}  // namespace antiphon::mpi
