// SPDX-License-Identifier: Apache-2.0
// Checks what is read of a node's network hardware: from directories as a node has them.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "network_root.hpp"

namespace network = antiphon::network;
namespace fs = std::filesystem;
using network::gigabit;
using network::Root;

TEST_CASE("the rate of an interface is its own, or that of the ports below a virtual one") {
  const Root root;
  root.port("eth0", "1000");
  root.port("eth1", "10000");
  root.port("down", "-1");
  root.port("ib0", "100000", "32");
  root.put("/sys/class/net/veth0/speed", "10000");
  root.link("/sys/class/net/eth1.7/lower_eth1", "../eth1");
  root.link("/sys/class/net/br0/lower_eth1", "../eth1");
  root.link("/sys/class/net/br0/lower_eth0", "../eth0");
  root.link("/sys/class/net/br1/lower_eth0", "../eth0");
  root.link("/sys/class/net/br1/lower_veth0", "../veth0");
  const auto rate = [&](const char* name) { return network::read_interface(root.path, name).bits_per_s; };
  CHECK(rate("eth0") == gigabit);
  CHECK(rate("eth1.7") == 10 * gigabit);
  CHECK(rate("br0") == gigabit);
  CHECK(rate("br1") == 0);
  CHECK(rate("down") == 0);
  CHECK(rate("veth0") == 0);
  CHECK(rate("none") == 0);
  CHECK(network::read_interface(root.path, "br0").source == "/sys/class/net/eth0/speed");
  CHECK(network::read_interface(root.path, "eth0").ethernet);
  CHECK_FALSE(network::read_interface(root.path, "ib0").ethernet);
}

TEST_CASE("a connection over a bond has one of its ports, unless the mode gives it all that the bond has") {
  const Root root;
  root.port("eth0", "1000");
  root.port("eth1", "2500");
  root.port("down", "-1");
  const auto bond = [&](const std::string& mode, const std::string& mbit) {
    const std::string path = "/sys/class/net/" + mode.substr(0, mode.find(' '));
    root.put(path + "/bonding/mode", mode);
    root.put(path + "/speed", mbit);
    for (const char* port : {"eth0", "eth1", "down"}) root.link(path + "/lower_" + port, std::string("../") + port);
  };
  bond("802.3ad 4", "3500");
  bond("balance-xor 2", "3500");
  bond("balance-rr 0", "3500");
  bond("active-backup 1", "1000");
  root.link("/sys/class/net/vlan7/lower_802.3ad", "../802.3ad");
  const auto rates = [&](const char* name) {
    const network::Interface found = network::read_interface(root.path, name);
    CHECK(found.source.ends_with("/speed"));
    return std::pair(found.bits_per_s, found.connection_bits_per_s);
  };
  CHECK(rates("802.3ad") == std::pair(7 * gigabit / 2, gigabit));
  CHECK(rates("balance-xor") == std::pair(7 * gigabit / 2, gigabit));
  CHECK(rates("vlan7") == std::pair(7 * gigabit / 2, gigabit));
  CHECK(rates("balance-rr") == std::pair(7 * gigabit / 2, std::int64_t{0}));
  CHECK(rates("active-backup") == std::pair(gigabit, std::int64_t{0}));
  CHECK(rates("eth0") == std::pair(gigabit, std::int64_t{0}));
}

TEST_CASE("whether a node is a virtual machine is read from its first processor alone") {
  const Root root;
  root.port("eth0", "1000");
  CHECK_FALSE(network::is_virtual_machine(root.path));
  root.put("/proc/cpuinfo", "processor : 0\nFeatures : fp\n\nflags : hypervisor");
  CHECK_FALSE(network::is_virtual_machine(root.path));
  fs::remove(root.path + "/proc/cpuinfo");
  const std::string pipe = root.path + "/proc/cpuinfo";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  bool all_was_read = true;
  std::thread system([&] {
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    std::ofstream file(pipe);
    for (int i = 0; i < 10'000; ++i) file << "processor : " << i << "\nflags : fpu hypervisor avx2\n\n";
    all_was_read = static_cast<bool>(file.flush());
  });
  CHECK(network::is_virtual_machine(root.path));
  system.join();
  CHECK_FALSE(all_was_read);
  CHECK(network::read_interface(root.path, "eth0", true).claimed);
  CHECK_FALSE(network::read_interface(root.path, "eth0", false).claimed);
}

TEST_CASE("a port that a host makes for its machines has a claimed rate, whatever the processor says") {
  const Root root;
  const auto claims = [&](const std::string& name) { return network::read_interface(root.path, name).claimed; };
  for (const char* driver : {"ena", "gve", "hv_netvsc", "mana", "vif", "virtio_net", "vmxnet3"}) {
    CAPTURE(driver);
    root.port(driver, "25000");
    root.link(std::string("/sys/class/net/") + driver + "/device/driver", std::string("../../bus/drivers/") + driver);
    CHECK(claims(driver));
  }
  root.port("eth0", "25000");
  CHECK_FALSE(claims("eth0"));
  root.link("/sys/class/net/eth0/device/driver", "../../../bus/pci/drivers/mlx5_core");
  CHECK_FALSE(claims("eth0"));
  // Of a bond and a VLAN, the port below counts.
  root.put("/sys/class/net/bond0/bonding/mode", "active-backup 1");
  root.put("/sys/class/net/bond0/speed", "25000");
  root.link("/sys/class/net/bond0/lower_ena", "../ena");
  root.link("/sys/class/net/vlan7/lower_gve", "../gve");
  CHECK(claims("bond0"));
  CHECK(claims("vlan7"));
  // A port that is lent whole to a virtual machine of arm64 has the driver of a wired one.
  CHECK_FALSE(network::is_virtual_machine(root.path));
  root.put("/sys/class/dmi/id/sys_vendor", "QEMU");
  CHECK(network::is_virtual_machine(root.path));
}

TEST_CASE("the network devices that a process has open are known by kind and rate") {
  const Root infiniband;
  infiniband.adapter("mlx5_0", "InfiniBand", "100 Gb/sec (4X EDR)");
  infiniband.link("/proc/fd/3", "socket:[4711]");
  infiniband.link("/proc/fd/8", "/dev/infiniband/uverbs0");
  REQUIRE(infiniband.open().size() == 1);
  CHECK(infiniband.open()[0].name == "mlx5_0");
  CHECK(infiniband.open()[0].kind == "InfiniBand");
  CHECK(infiniband.open()[0].bits_per_s == 100 * gigabit);
  const Root efa;
  efa.adapter("rdmap0s6", "Unspecified", "100 Gb/sec (4X EDR)");
  efa.link("/sys/class/infiniband/rdmap0s6/device/driver", "../../../bus/pci/drivers/efa");
  CHECK(efa.open()[0].kind == "EFA");
  const Root slingshot;
  slingshot.link("/proc/fd/9", "/dev/cxi0");
  slingshot.put("/sys/class/cxi/cxi0/device/net/hsn0/speed", "200000");
  CHECK(slingshot.open()[0].kind == "HPE Slingshot");
  CHECK(slingshot.open()[0].bits_per_s == 200 * gigabit);
  const Root plain;
  plain.link("/proc/fd/0", "/dev/null");
  CHECK(plain.open().empty());
}
