// SPDX-License-Identifier: Apache-2.0
#include "job/node_name.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "network/hardware.hpp"

namespace antiphon::mpi {

namespace {

bool has_no_local_communication() {
  const char* const text = std::getenv("MPIR_CVAR_NOLOCAL");
  return text != nullptr && (std::strcmp(text, "1") == 0 || std::strcmp(text, "yes") == 0);
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string node_name() {
  std::string name = host_name() + '/' + network::read_machine("").boot_id;
  if (has_no_local_communication()) name += '/' + std::to_string(getpid());
  return name;
}

}  // namespace antiphon::mpi
