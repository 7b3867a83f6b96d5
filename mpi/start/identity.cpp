// SPDX-License-Identifier: Apache-2.0
#include "start/identity.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>

#include "antiphon.h"

namespace antiphon::mpi {

namespace {

#define ANTIPHON_TEXT_OF(number) #number
#define ANTIPHON_TEXT(number) ANTIPHON_TEXT_OF(number)

/// The number changes with the handshake itself; everything after it is told apart by version and build.
constexpr char kind[] = "1/" ANTIPHON_ABI "/" ANTIPHON_TEXT(ANTIPHON_VERSION_MAJOR) "." ANTIPHON_TEXT(
    ANTIPHON_VERSION_MINOR) "." ANTIPHON_TEXT(ANTIPHON_VERSION_PATCH) "/";

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

/// Returns the linker's build id among a segment's notes, or "".
std::string build_id_in(const char* notes, std::size_t bytes) {
  constexpr auto padded = [](std::size_t length) { return (length + 3) & ~std::size_t{3}; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof header);
    const char* name = notes + at + sizeof header;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return hexadecimal(reinterpret_cast<const unsigned char*>(name) + 4, std::min<std::size_t>(header.n_descsz, 10));
    at += sizeof header + padded(header.n_namesz) + padded(header.n_descsz);
  }
  return "";
}

int find_build_id(dl_phdr_info* info, size_t, void* found) {
  const auto own = reinterpret_cast<ElfW(Addr)>(kind);
  std::string id;
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const ElfW(Addr) start = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && own >= start && own - start < part.p_memsz) mine = true;
    if (part.p_type == PT_NOTE && id.empty()) id = build_id_in(reinterpret_cast<const char*>(start), part.p_memsz);
  }
  if (mine) *static_cast<std::string*>(found) = id;
  return mine ? 1 : 0;
}

}  // namespace

const std::string& identity() {
  static const std::string all = [] {
    std::string build;
    dl_iterate_phdr(find_build_id, &build);
    return kind + build;
  }();
  return all;
}

std::string describe_identity(const std::string& identity) {
  const std::size_t abi = identity.find('/') + 1;
  const std::size_t version = identity.find('/', abi) + 1;
  const std::size_t build = identity.find('/', version) + 1;
  if (abi == 0 || version == 0 || build == 0) return '"' + identity + '"';
  return "Antiphon " + identity.substr(version, build - version - 1) + " for " +
         identity.substr(abi, version - abi - 1) + " (build " + identity.substr(build) + ")";
}

}  // namespace antiphon::mpi
