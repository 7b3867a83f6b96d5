// SPDX-License-Identifier: Apache-2.0
// A node's network hardware, as the system describes it under /sys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/cores.hpp"

namespace antiphon::network {

struct Interface {
  std::string name;
  bool ethernet = true;
  std::int64_t bits_per_s = 0;             ///< 0: unknown
  std::string source;                      ///< the file with the rate, or why there is none
  bool claimed = false;                    ///< a hypervisor says so, which may have set another limit
  std::int64_t connection_bits_per_s = 0;  ///< one connection carries no more; 0: it fills the link
};

/// A device that carries messages without the kernel's TCP.
struct Device {
  std::string name;  ///< "mlx5_0"
  std::string kind;  ///< "InfiniBand", "HPE Slingshot", …
  std::int64_t bits_per_s = 0;
  std::string source;
};

/// The machine that a node is, or that it shares with other nodes: containers and network namespaces on one kernel.
struct Machine {
  std::string boot_id;  ///< equal on nodes of one machine only; empty: unknown
  Cores cores;          ///< that the rank may use
  double look_s = 0;    ///< processor time of a look for messages in vain; 0: unknown
};

/// Reads the machine of this node; `root` as for read_interface().
Machine read_machine(const std::string& root);

/// Tells whether this node is a virtual machine, whose ports' speeds are what its host likes to say.
bool is_virtual_machine(const std::string& root);

/// Reads an interface of this node, which may be a virtual machine. `root` is empty, or a directory in which tests have
/// a sys/ of their own.
Interface read_interface(const std::string& root, const std::string& name, bool virtual_machine = false);

/// Returns the devices among a process's open files. `files` is a directory of links, as /proc/self/fd.
std::vector<Device> open_devices(const std::string& root, const std::string& files);

/// Returns where the links in a directory lead, as /proc/self/fd has one for each open file.
std::vector<std::string> link_targets(const std::string& directory);

}  // namespace antiphon::network
