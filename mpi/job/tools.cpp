// SPDX-License-Identifier: Apache-2.0
#include "job/tools.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace antiphon::mpi {

namespace {

std::vector<Tool> tools;

void note(void* function, bool sees_every_call) {
  Dl_info object{};
  if (dladdr(function, &object) == 0) return;
  const auto is_this = [&](const Tool& tool) { return tool.file == object.dli_fname; };
  const auto known = std::find_if(tools.begin(), tools.end(), is_this);
  if (known == tools.end()) tools.push_back({object.dli_fname, sees_every_call});
  else known->sees_every_call = known->sees_every_call && sees_every_call;
}

/// The parts of a loaded object that list its symbols.
struct Symbols {
  const ElfW(Sym) * table = nullptr;
  const char* names = nullptr;
  std::size_t count = 0;  ///< of symbols among which all undefined ones are
};

Symbols symbols_of(const ElfW(Dyn) * dynamic) {
  Symbols found;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto address = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_SYMTAB) found.table = reinterpret_cast<const ElfW(Sym)*>(address);
    if (dynamic->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char*>(address);
    // The second word is the first symbol that is defined (GNU), or the number of all symbols.
    if (dynamic->d_tag == DT_GNU_HASH || (dynamic->d_tag == DT_HASH && found.count == 0))
      found.count = reinterpret_cast<const std::uint32_t*>(address)[1];
  }
  return found;
}

}  // namespace

const std::vector<Tool>& tools_in_line() { return tools; }

void note_tool_before(void* first, void* by_library) {
  Dl_info there{};
  Dl_info here{};
  if (first == nullptr || first == by_library || dladdr(first, &there) == 0 || dladdr(&tools, &here) == 0) return;
  if (there.dli_fbase != here.dli_fbase) note(first, true);
}

void note_tool_behind(void* function, bool comes_back) { note(function, comes_back); }

bool imports(void* function, const char* symbol) {
  Dl_info object{};
  void* extra = nullptr;
  if (dladdr1(function, &object, &extra, RTLD_DL_LINKMAP) == 0) return false;
  const Symbols symbols = symbols_of(static_cast<link_map*>(extra)->l_ld);
  for (std::size_t i = 1; i < symbols.count; ++i) {
    const auto& s = symbols.table[i];
    if (s.st_shndx == SHN_UNDEF && std::strcmp(symbols.names + s.st_name, symbol) == 0) return true;
  }
  return false;
}

}  // namespace antiphon::mpi
