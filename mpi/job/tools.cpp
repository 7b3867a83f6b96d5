// SPDX-License-Identifier: Apache-2.0
#include "job/tools.hpp"

#include <dlfcn.h>

#include <algorithm>

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

}  // namespace

const std::vector<Tool>& tools_in_line() { return tools; }

void note_tool_before(void* first, void* by_library) {
  Dl_info there{};
  Dl_info here{};
  if (first == nullptr || first == by_library || dladdr(first, &there) == 0 || dladdr(&tools, &here) == 0) return;
  if (there.dli_fbase != here.dli_fbase) note(first, true);
}

void note_tool_behind(void* function, bool comes_back) { note(function, comes_back); }

}  // namespace antiphon::mpi
