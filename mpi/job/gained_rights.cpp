// SPDX-License-Identifier: Apache-2.0
// A program that has gained rights (setuid, setgid, capabilities) takes no orders from its caller's environment. The
// system preloads nothing into one, unless its administrator has put this object among the trusted libraries.
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace antiphon::mpi {

namespace {

/// Runs before anything reads a setting: files that settings name would be written with the rights of the program.
__attribute__((constructor(101))) void forget_settings() {
  if (getauxval(AT_SECURE) == 0 || environ == nullptr) return;
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("ANTIPHON")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
  setenv("ANTIPHON", "off", 1);
}

}  // namespace

}  // namespace antiphon::mpi
