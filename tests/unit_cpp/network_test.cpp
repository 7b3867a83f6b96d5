// SPDX-License-Identifier: Apache-2.0
// Checks how the network between nodes is found: from directories as a node has them, recorded settings, connections.
#include <doctest/doctest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "network/agree.hpp"

namespace network = antiphon::network;
namespace fs = std::filesystem;
using network::Address;
using network::Cores;
using network::Sighting;

namespace {

/// A directory that stands for a node's root, removed at the end.
struct Root {
  Root() {
    std::string name = (fs::temp_directory_path() / "antiphon-root-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() { fs::remove_all(path); }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(path + file).parent_path());
    std::ofstream(path + file) << text << '\n';
  }
  void link(const std::string& file, const std::string& target) const {
    fs::create_directories(fs::path(path + file).parent_path());
    fs::create_symlink(target, path + file);
  }
  /// Adds a wired port, as a driver shows it.
  void port(const std::string& name, const std::string& mbit, const std::string& type = "1") const {
    fs::create_directories(path + "/sys/class/net/" + name + "/device");
    put("/sys/class/net/" + name + "/speed", mbit);
    put("/sys/class/net/" + name + "/type", type);
  }
  /// Adds an adapter of InfiniBand or the like and opens it.
  void adapter(const std::string& name, const std::string& layer, const std::string& rate) const {
    put("/sys/class/infiniband_verbs/uverbs0/ibdev", name);
    put("/sys/class/infiniband/" + name + "/ports/1/state", "4: ACTIVE");
    put("/sys/class/infiniband/" + name + "/ports/1/rate", rate);
    put("/sys/class/infiniband/" + name + "/ports/1/link_layer", layer);
    link("/proc/fd/7", "/dev/infiniband/uverbs0");
  }
  std::vector<network::Device> open() const { return network::open_devices(path, path + "/proc/fd"); }
  std::string path;
};

network::Told told(const std::string& library, const std::map<std::string, std::string>& settings) {
  return network::read_told(library, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = settings.find(name);
    return found == settings.end() ? std::nullopt : std::optional(found->second);
  });
}

const std::string openmpi = "Open MPI v5.0.11";
const std::string mpich = "MPICH Version:\t5.0.2\nMPICH Device:\tch4:ofi\n";
const std::string mpich_ucx = "MPICH Version:\t4.0.2\nMPICH Device:    \tch4:ucx\nMPICH configure: \t";
constexpr std::int64_t gigabit = 1'000'000'000;

Sighting tcp(const std::string& interface, std::int64_t rate, std::vector<std::uint64_t> keys) {
  return {.links = {{{interface, true, rate, "/sys/class/net/" + interface + "/speed"}, std::move(keys)}}};
}

}  // namespace

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

TEST_CASE("settings of the libraries tell the transport where they leave one only") {
  using Settings = std::map<std::string, std::string>;
  const std::vector<std::tuple<std::string, Settings, std::string, std::string>> recorded{
      {openmpi, {}, "", ""},
      {openmpi, {{"pml", "ob1"}, {"btl", "tcp,self,sm"}, {"btl_tcp_if_include", "eth1"}}, "tcp", "eth1"},
      {openmpi, {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "tcp,self"}}, "tcp", ""},
      {openmpi, {{"OMPI_MCA_btl", "tcp,self"}}, "", ""},
      {openmpi, {{"pml", "ob1"}, {"btl", "^openib"}, {"OMPI_MCA_btl_tcp_if_include", "10.0.0.0/8"}}, "", "10.0.0.0/8"},
      {openmpi, {{"pml", "ob1"}, {"btl", "openib,self,vader"}}, "other", ""},
      {openmpi, {{"pml", "ucx"}, {"UCX_NET_DEVICES", "mlx5_0:1"}}, "other", "mlx5_0:1"},
      {openmpi, {{"pml", "ucx"}, {"UCX_TLS", "tcp,self,sm"}}, "tcp", ""},
      {openmpi, {{"pml", "cm"}, {"mtl", "psm2"}}, "other", ""},
      {openmpi, {{"pml", "cm"}, {"mtl", "ofi"}, {"FI_PROVIDER", "efa"}}, "other", ""},
      {mpich_ucx, {}, "", ""},
      {mpich_ucx, {{"UCX_NET_DEVICES", "eth0"}}, "tcp", "eth0"},
      {mpich_ucx, {{"UCX_TLS", "rc,self,sm"}}, "other", ""},
      {mpich_ucx, {{"UCX_TLS", "all"}}, "other", ""},
      {mpich_ucx, {{"UCX_TLS", "^tcp"}}, "", ""},
      {mpich, {{"FI_PROVIDER", "tcp;ofi_rxm"}, {"FI_TCP_IFACE", "eth2"}}, "tcp", "eth2"},
      {mpich, {{"FI_PROVIDER", "cxi"}}, "other", ""},
      {mpich, {{"FI_PROVIDER", "psm3"}, {"PSM3_NIC", "irdma0"}}, "other", "irdma0"},
      {mpich, {{"FI_PROVIDER", "^psm3"}}, "", ""},
      {mpich, {{"MPIR_CVAR_CH4_NETMOD", "ucx"}, {"UCX_NET_DEVICES", "mlx5_0:1,eth0"}}, "", "mlx5_0:1,eth0"},
      {mpich, {{"MPIR_CVAR_OFI_USE_PROVIDER", "verbs"}, {"FI_PROVIDER", "tcp"}}, "other", ""},
      {"MPICH Version:\t3.3\nMPICH Device:\tch3:nemesis\n", {}, "tcp", ""},
      {"Intel(R) MPI Library 2021.10", {{"I_MPI_OFI_PROVIDER", "mlx"}}, "other", ""},
  };
  for (const auto& [library, settings, transport, interfaces] : recorded) {
    const network::Told found = told(library, settings);
    CAPTURE(found.source);
    CAPTURE(found.component);
    CHECK(found.transport == transport);
    CHECK(found.interfaces == interfaces);
  }
}

TEST_CASE("only connections that leave the node count, by interface and alike at both ends") {
  const auto address = [](char host, const char* port) { return Address(15, '\0') + host + port; };
  const std::map<Address, std::string> here{{address(1, ""), "eth0"}, {address(2, ""), "eth1"}};
  const std::map<Address, std::string> there{{address(9, ""), "eth7"}};
  const auto a = address(1, "ab");
  const auto b = address(9, "cd");
  const auto keys = network::leaving({{a, b}, {a, address(2, "xy")}, {address(7, "ab"), b}}, here);
  REQUIRE(keys.size() == 1);
  CHECK(keys.at("eth0").size() == 1);
  CHECK(network::leaving({{b, a}}, there).at("eth7") == keys.at("eth0"));
}

TEST_CASE("this node's addresses are 16 bytes, IPv4 as in IPv6") {
  const auto own = network::own_addresses();
  const auto loopback = Address(10, '\0') + "\xff\xff" + Address("\x7f\0\0\x01", 4);
  REQUIRE(own.count(loopback) == 1);
  CHECK(own.at(loopback) == "lo");
}

TEST_CASE("TCP on every node is TCP, at the rate of the slowest interface that joins ranks") {
  const std::vector<Sighting> ranks{
      tcp("eth1", 10 * gigabit, {5}), {}, tcp("eth1", gigabit, {5, 6}), tcp("eth1", 10 * gigabit, {6})};
  const network::Network found = network::agree(ranks, {0, 0, 2, 3});
  CHECK(found.transport == "tcp");
  CHECK(found.interface == "eth1");
  CHECK(found.bits_per_s == gigabit);
  CHECK(found.line() ==
        "TCP (connections between ranks on all 3 nodes), interface eth1 (the connections' addresses), "
        "1 Gbit/s (/sys/class/net/eth1/speed)");
  CHECK(network::agree({ranks[0], ranks[0]}, {0, 1}).bits_per_s == 10 * gigabit);
}

TEST_CASE("a connection is noted where it does not fill the link") {
  Sighting bond = tcp("bond0", 2 * gigabit, {1});
  bond.links.front().interface.connection_bits_per_s = gigabit;
  const auto of = [](const Sighting& a, const Sighting& b) {
    const network::Network found = network::agree({a, b}, {0, 1});
    return std::pair(found.bits_per_s, found.connection_bits_per_s);
  };
  CHECK(of(bond, bond) == std::pair(2 * gigabit, gigabit));
  CHECK(of(bond, tcp("eth0", gigabit, {1})) == std::pair(gigabit, std::int64_t{0}));
  network::Network measured;
  measured.set_rates(10 * gigabit, 16 * gigabit, "measured");
  CHECK(measured.connection_bits_per_s == 0);
  measured.set_rates(10 * gigabit, 10 * gigabit, "measured");
  CHECK(measured.connection_bits_per_s == 0);
  measured.set_rates(10 * gigabit, 9 * gigabit, "measured");
  CHECK(measured.connection_bits_per_s == 9 * gigabit);
}

TEST_CASE("nodes of one machine share its cores") {
  const auto on = [](const char* boot_id, int cores, std::uint64_t key, double look_s = 0) {
    Sighting s = tcp("eth0", gigabit, {key});
    s.machine = {boot_id, Cores(cores), look_s};
    return s;
  };
  // Two containers of one machine, of two ranks and of one, and another machine with fewer cores and one rank.
  const std::vector<Sighting> ranks{on("a", 4, 5, 9e-6), on("a", 4, 5, 2e-6), on("a", 4, 5), on("b", 2, 5, 3e-6)};
  const network::Network found = network::agree(ranks, {0, 0, 1, 2});
  CHECK(found.nodes_sharing == 2);
  CHECK(found.cores_per_node == 4);
  CHECK(found.line().ends_with(", 2 nodes share the 4 cores of one machine"));
  network::Network paced = found;
  paced.connection_bits_per_s = 25'000'000;
  CHECK(paced.line().find(", 25 Mbit/s a connection, 2 nodes share") != std::string::npos);
  const network::Network read = network::network_from_json(network::to_json(paced));
  CHECK(read.connection_bits_per_s == 25'000'000);
  CHECK(read.nodes_sharing == 2);
  CHECK(read.cores_per_node == 4);
  CHECK(read.ranks_on_cores == 3);
  CHECK(read.turn_s == 3e-6);
  CHECK(network::sighting_from_json(network::to_json(ranks[3])).machine.boot_id == "b");
  CHECK(network::sighting_from_json(network::to_json(ranks[3])).machine.look_s == 3e-6);
  // Nodes that do not say on which machine they are share nothing.
  const network::Network apart = network::agree({on("", 2, 5, 2e-6), on("", 2, 5, 2e-6)}, {0, 1});
  CHECK(apart.nodes_sharing == 1);
  CHECK(apart.turn_s == 0);
  CHECK(network::read_machine("").cores.count() > 0);
}

TEST_CASE("links are measured between machines where some of them have several nodes") {
  const auto machines = [](const std::vector<const char*>& boot_ids, const std::vector<int>& node_of_rank) {
    std::vector<Sighting> ranks(boot_ids.size(), tcp("eth0", gigabit, {5}));
    for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].machine.boot_id = boot_ids[r];
    return network::agree(ranks, node_of_rank).machine_of_rank;
  };
  using Ranks = std::vector<int>;
  // Two pods on each machine, the first one with two ranks.
  CHECK(machines({"a", "a", "a", "b", "b"}, {0, 0, 2, 3, 4}) == Ranks{0, 0, 0, 3, 3});
  CHECK(machines({"a", "b", "a"}, {0, 1, 2}) == Ranks{0, 1, 0});
  CHECK(machines({"a", "a", "", ""}, {0, 1, 2, 3}) == Ranks{0, 0, 2, 3});
  // One machine with all nodes, as in a lab, or a machine for each.
  CHECK(machines({"a", "a", "a"}, {0, 1, 2}).empty());
  CHECK(machines({"a", "b", "b"}, {0, 1, 1}).empty());
  CHECK(machines({"", ""}, {0, 1}).empty());
}

TEST_CASE("a connection that only one rank has is not the library's") {
  std::vector<Sighting> ranks{tcp("eth1", 25 * gigabit, {5}), tcp("eth1", 25 * gigabit, {5})};
  ranks[0].links.push_back({{"eth0", true, gigabit, ""}, {99}});
  const network::Network found = network::agree(ranks, {0, 1});
  CHECK(found.interface == "eth1");
  CHECK(found.bits_per_s == 25 * gigabit);
  CHECK(network::agree({tcp("eth0", gigabit, {1}), tcp("eth0", gigabit, {2})}, {0, 1}).transport.empty());
}

TEST_CASE("InfiniBand with a slow management network is not taken for Ethernet") {
  const Sighting rank{.devices = {{"mlx5_0", "InfiniBand", 100 * gigabit, "rate"}}};
  Sighting with_launcher = rank;
  with_launcher.links = tcp("eth0", gigabit, {77}).links;
  const network::Network found = network::agree({with_launcher, rank}, {0, 1});
  CHECK(found.transport == "other");
  CHECK(found.name == "InfiniBand");
  CHECK(found.interface == "mlx5_0");
  CHECK(found.bits_per_s == 100 * gigabit);
  Sighting over_ib = tcp("ib0", 10 * gigabit, {5});
  over_ib.links[0].interface.ethernet = false;
  CHECK(network::agree({over_ib, over_ib}, {0, 1}).transport == "other");
}

TEST_CASE("a mixture is unclear unless the settings leave one reading") {
  Sighting both = tcp("eth0", gigabit, {5});
  both.devices = {{"mlx5_0", "RDMA over Ethernet", 25 * gigabit, "rate"}};
  const Sighting one = tcp("eth0", gigabit, {5});
  CHECK(network::agree({both, both}, {0, 1}).transport.empty());
  CHECK(network::agree({both, both}, {0, 1}).bits_per_s == 0);
  CHECK(network::agree({both, one}, {0, 1}).transport.empty());
  CHECK(network::agree({one, one, {}}, {0, 1, 2}).transport.empty());
  both.told = told(openmpi, {{"pml", "ob1"}, {"btl", "tcp,self"}});
  CHECK(network::agree({both, both}, {0, 1}).transport == "tcp");
  CHECK(network::agree({both, one}, {0, 1}).transport.empty());
  both.told = told(openmpi, {{"pml", "ucx"}, {"UCX_NET_DEVICES", "mlx5_0:1"}});
  CHECK(network::agree({both, both}, {0, 1}).transport == "other");
  const Sighting silent{.told = told(mpich, {{"FI_PROVIDER", "opx"}})};
  CHECK(network::agree({silent, silent}, {0, 1}).transport == "other");
  CHECK(network::agree({Sighting{}, Sighting{}}, {0, 1}).transport.empty());
}

TEST_CASE("on one node the settings say what other nodes would be reached by") {
  const auto settings = told(openmpi, {{"pml", "ob1"}, {"btl", "tcp,self"}, {"btl_tcp_if_include", "eth1"}});
  CHECK(network::on_one_node(settings).line() ==
        "shared memory by ob1/tcp (all ranks are on one node); to other nodes TCP, interface eth1 (pml=ob1 "
        "btl=tcp,self btl_tcp_if_include=eth1)");
  CHECK(network::on_one_node({}).between_nodes == "what the library chooses");
}

TEST_CASE("what a rank saw, and the answer, survive the way between ranks") {
  Sighting rank = tcp("eth0", gigabit, {std::uint64_t{1} << 62, 3});
  rank.devices = {{"mlx5_0", "InfiniBand", 100 * gigabit, "rate"}};
  rank.told = told(mpich, {{"FI_PROVIDER", "tcp"}});
  rank.links.front().interface.connection_bits_per_s = gigabit;
  rank.host = "node01";
  const antiphon::Json json = to_json(rank);
  CHECK(to_json(network::sighting_from_json(antiphon::Json::parse(json.dump()))).dump() == json.dump());
  const antiphon::Json answer = to_json(network::agree({rank, rank}, {0, 1}));
  CHECK(to_json(network::network_from_json(antiphon::Json::parse(answer.dump()))).dump() == answer.dump());
}
