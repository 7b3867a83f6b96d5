// SPDX-License-Identifier: Apache-2.0
// Checks how the network between nodes is found: from recorded settings and connections.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <map>
#include <utility>

#include "network/agree.hpp"
#include "network_root.hpp"

namespace network = antiphon::network;
using network::Address;
using network::Cores;
using network::gigabit;
using network::Root;
using network::Sighting;

namespace {

network::Told told(const std::string& library, const std::map<std::string, std::string>& settings) {
  return network::read_told(library, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = settings.find(name);
    return found == settings.end() ? std::nullopt : std::optional(found->second);
  });
}

const std::string openmpi = "Open MPI v5.0.11";
const std::string mpich = "MPICH Version:\t5.0.2\nMPICH Device:\tch4:ofi\n";
const std::string mpich_ucx = "MPICH Version:\t4.0.2\nMPICH Device:    \tch4:ucx\nMPICH configure: \t";

Sighting tcp(const std::string& interface, std::int64_t rate, std::vector<std::uint64_t> keys) {
  return {.links = {{{interface, true, rate, "/sys/class/net/" + interface + "/speed"}, std::move(keys)}}};
}

}  // namespace

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

TEST_CASE("an address is its interface's, by name and not by label, before it is the loopback interface's") {
  const auto v4 = [](const char* text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    REQUIRE(inet_pton(AF_INET, text, &address.sin_addr) == 1);
    return address;
  };
  std::vector<sockaddr_in> given{v4("127.0.0.1"), v4("10.0.0.7"), v4("10.0.0.8"), v4("10.0.0.7"), v4("10.1.0.7")};
  std::vector<std::string> names{"lo", "lo", "lo", "swp1", "eth0:1"};
  std::vector<ifaddrs> list(given.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].ifa_next = i + 1 < list.size() ? &list[i + 1] : nullptr;
    list[i].ifa_name = names[i].data();
    list[i].ifa_flags = names[i] == "lo" ? IFF_LOOPBACK | IFF_UP : IFF_UP;
    list[i].ifa_addr = reinterpret_cast<sockaddr*>(&given[i]);
  }
  const auto own = network::addresses_in(list.data());
  const auto name_of = [&](const char* bytes) { return own.at(Address(10, '\0') + "\xff\xff" + Address(bytes, 4)); };
  CHECK(name_of("\x0a\0\0\x07") == "swp1");
  CHECK(name_of("\x0a\0\0\x08") == "lo");
  CHECK(name_of("\x0a\x01\0\x07") == "eth0");
  // What leaves the node by an address of the loopback interface goes over some Ethernet, whose rate is not known.
  const Root root;
  root.put("/sys/class/net/lo/type", "772");
  CHECK(network::read_interface(root.path, "lo").ethernet);
  CHECK(network::read_interface(root.path, "lo").bits_per_s == 0);
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
