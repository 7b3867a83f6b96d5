// SPDX-License-Identifier: Apache-2.0
#include "job/loaded_symbols.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace antiphon::mpi {

namespace {

/// The parts of a loaded object that list its symbols.
struct Symbols {
  const ElfW(Sym) * table = nullptr;
  const char* names = nullptr;
  std::size_t count = 0;
};

/// Returns the number of symbols in an object with a hash table of GNU's kind: the last chain ends with the last one.
std::size_t count_of(const std::uint32_t* hash) {
  const std::uint32_t buckets = hash[0], first = hash[1], words = hash[2];
  const std::uint32_t* const bucket = hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const chain = bucket + buckets;
  const std::uint32_t last = buckets == 0 ? 0 : *std::max_element(bucket, bucket + buckets);
  if (last < first) return first;
  std::uint32_t symbol = last;
  while ((chain[symbol - first] & 1) == 0) ++symbol;
  return symbol + 1;
}

Symbols symbols_of(const link_map& object) {
  Symbols found;
  for (const ElfW(Dyn)* dynamic = object.l_ld; dynamic->d_tag != DT_NULL; ++dynamic) {
    // The loader moves addresses to where the object is, except where it may not write, as in the kernel's own object.
    const auto moved = dynamic->d_un.d_ptr;
    const auto address = moved < object.l_addr ? moved + object.l_addr : moved;
    if (dynamic->d_tag == DT_SYMTAB) found.table = reinterpret_cast<const ElfW(Sym)*>(address);
    if (dynamic->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char*>(address);
    if (dynamic->d_tag == DT_GNU_HASH) found.count = count_of(reinterpret_cast<const std::uint32_t*>(address));
    if (dynamic->d_tag == DT_HASH && found.count == 0) found.count = reinterpret_cast<const std::uint32_t*>(address)[1];
  }
  return found;
}

/// Returns the symbol of this name that the object defines, or, if not `defined`, that it refers to.
const ElfW(Sym) * find(const Symbols& symbols, const char* name, bool defined) {
  for (std::size_t i = 1; i < symbols.count; ++i) {
    const auto& s = symbols.table[i];
    if ((s.st_shndx != SHN_UNDEF) == defined && std::strcmp(symbols.names + s.st_name, name) == 0) return &s;
  }
  return nullptr;
}

}  // namespace

bool imports(void* function, const char* symbol) {
  Dl_info object{};
  void* extra = nullptr;
  if (dladdr1(function, &object, &extra, RTLD_DL_LINKMAP) == 0) return false;
  return find(symbols_of(*static_cast<link_map*>(extra)), symbol, false) != nullptr;
}

void* loaded_definition(const char* symbol) {
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&imports), &here) == 0) return nullptr;
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_addr == reinterpret_cast<std::uintptr_t>(here.dli_fbase)) continue;
    const auto* const found = find(symbols_of(*object), symbol, true);
    if (found != nullptr) return reinterpret_cast<void*>(object->l_addr + found->st_value);
  }
  return nullptr;
}

}  // namespace antiphon::mpi
