// SPDX-License-Identifier: Apache-2.0
#include "network/told.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace antiphon::network {

namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& text) {
  Words words;
  std::string word;
  for (const char c : text + ",") {
    if (c != ',' && c != ';' && c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Reads settings one after the other and notes those that say something.
class Reader {
 public:
  explicit Reader(const Lookup& lookup) : lookup_(lookup) {}

  /// Returns the first of these settings that has a value.
  std::string text(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      std::optional<std::string> value = lookup_(name);
      if (!value || value->empty()) continue;
      told.source += (told.source.empty() ? "" : " ") + std::string(name) + "=" + *value;
      return *value;
    }
    return "";
  }

  Told told;

 private:
  const Lookup& lookup_;
};

void name_part(Told& told, const std::string& part) { told.component += (told.component.empty() ? "" : "/") + part; }

/// A device with a port, "mlx5_0:1", is RDMA's; one without is an interface of the kernel's, which only TCP uses.
void read_ucx(Reader& reader) {
  name_part(reader.told, "ucx");
  const std::string devices = reader.text({"UCX_NET_DEVICES"});
  const std::string transports = reader.text({"UCX_TLS"});
  if (!devices.empty() && devices != "all") {
    const Words names = words_of(devices);
    const auto has_port = [](const std::string& name) { return name.find(':') != std::string::npos; };
    const auto ports = std::count_if(names.begin(), names.end(), has_port);
    if (ports == 0) reader.told.transport = "tcp";
    if (ports == static_cast<std::ptrdiff_t>(names.size())) reader.told.transport = "other";
    reader.told.interfaces = devices;
  }
  if (transports.empty() || transports[0] == '^') return;
  bool tcp = false;
  bool others = false;
  for (const std::string& word : words_of(transports)) {
    if (is_one_of(word, {"self", "sm", "shm", "mm", "posix", "sysv", "cma", "knem", "xpmem", "gdr_copy"})) continue;
    if (word.rfind("cuda", 0) == 0 || word.rfind("rocm", 0) == 0 || word.rfind("ze_", 0) == 0) continue;
    (word == "tcp" ? tcp : others) = true;
  }
  if (tcp != others) reader.told.transport = tcp ? "tcp" : "other";
}

void read_libfabric(Reader& reader, std::initializer_list<const char*> providers) {
  name_part(reader.told, "ofi");
  const std::string provider = reader.text(providers);
  if (provider.empty() || provider[0] == '^') return;
  const Words names = words_of(provider);
  name_part(reader.told, names.empty() ? provider : names[0]);
  bool tcp = false;
  bool others = false;
  for (const std::string& name : names) {
    if (is_one_of(name, {"shm", "ofi_rxm", "ofi_rxd", "ofi_mrail", "lnx"})) continue;
    (is_one_of(name, {"tcp", "sockets", "net"}) ? tcp : others) = true;
  }
  if (tcp != others) reader.told.transport = tcp ? "tcp" : "other";
  if (tcp) reader.told.interfaces = reader.text({"FI_TCP_IFACE", "FI_SOCKETS_IFACE"});
  if (names.size() == 1 && names[0] == "psm3") reader.told.interfaces = reader.text({"PSM3_NIC"});
}

/// With ob1, messages travel through the list of btl; other modules of pml have transports of their own.
void read_openmpi(Reader& reader) {
  const std::string pml = reader.text({"pml", "OMPI_MCA_pml"});
  const std::string btl = reader.text({"btl", "OMPI_MCA_btl"});
  if (pml == "ucx") return read_ucx(reader);
  if (pml == "cm") {
    const std::string mtl = reader.text({"mtl", "OMPI_MCA_mtl"});
    if (mtl == "ofi") return read_libfabric(reader, {"mtl_ofi_provider_include", "FI_PROVIDER"});
    reader.told.transport = mtl.empty() ? "" : "other";
    return name_part(reader.told, mtl.empty() ? pml : mtl);
  }
  if (!pml.empty() && pml[0] != '^') name_part(reader.told, pml);
  bool tcp = false;
  bool others = false;
  const bool any = btl.empty() || btl[0] == '^';
  for (const std::string& word : any ? Words{} : words_of(btl)) {
    if (is_one_of(word, {"self", "sm", "vader", "smcuda"})) continue;
    (word == "tcp" ? tcp : others) = true;
  }
  if (tcp) name_part(reader.told, "tcp");
  if (pml == "ob1" && tcp != others) reader.told.transport = tcp ? "tcp" : "other";
  if (tcp || any) reader.told.interfaces = reader.text({"btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_include"});
}

/// Returns "ch4:ucx" of "MPICH Device:  ch4:ucx", or nothing.
std::string device_of(const std::string& library) {
  constexpr std::string_view label = "MPICH Device:";
  const std::size_t at = library.find(label);
  if (at == std::string::npos) return "";
  const std::size_t begin = library.find_first_not_of(" \t", at + label.size());
  return begin == std::string::npos ? "" : library.substr(begin, library.find_first_of(" \t\n", begin) - begin);
}

void read_mpich(Reader& reader, const std::string& library) {
  const std::string device = device_of(library);
  if (device.rfind("ch3", 0) == 0) {
    name_part(reader.told, device);
    reader.told.source = "the library's build";
    reader.told.transport = is_one_of(device, {"ch3:nemesis", "ch3:nemesis:tcp", "ch3:sock"}) ? "tcp" : "other";
    return;
  }
  std::string module = reader.text({"MPIR_CVAR_CH4_NETMOD"});
  const std::string fabrics = reader.text({"I_MPI_FABRICS"});
  if (module.empty() && fabrics.find("tcp") != std::string::npos) reader.told.transport = "tcp";
  if (module.empty() && device.rfind("ch4:", 0) == 0) module = device.substr(4);
  if (module == "ucx") return read_ucx(reader);
  read_libfabric(reader, {"MPIR_CVAR_OFI_USE_PROVIDER", "I_MPI_OFI_PROVIDER", "FI_PROVIDER"});
}

}  // namespace

Told read_told(const std::string& library, const Lookup& lookup) {
  Reader reader(lookup);
  library.rfind("Open MPI", 0) == 0 ? read_openmpi(reader) : read_mpich(reader, library);
  return std::move(reader.told);
}

}  // namespace antiphon::network
