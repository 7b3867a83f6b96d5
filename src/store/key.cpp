// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "antiphon/fnv.hpp"
#include "antiphon/store.hpp"

namespace antiphon {

namespace {

constexpr std::size_t most_name_bytes = 48;

/// Returns a text of letters, digits, '-' and '_' only, which is a part of a file's name on any system.
std::string plain(std::string_view text) {
  std::string name(text.substr(0, most_name_bytes));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  }
  return name;
}

std::uint64_t hash_of(const std::vector<std::string>& names) {
  Fnv hasher;
  for (const std::string& name : names) hasher.add(name + '\n');
  return hasher.value();
}

std::string major_of(std::string_view version) {
  const auto begin = std::find_if(version.begin(), version.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const auto end = std::find_if_not(begin, version.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return {begin, end};
}

}  // namespace

StoreKey::StoreKey(const std::vector<std::string>& names, const std::string& library, const std::string& version)
    : mpi(plain(library.empty() ? "mpi" : library)) {
  if (const std::string major = major_of(version); !major.empty()) mpi += "-" + major;
  for (const std::string& name : names) {
    // An address is no name with a domain.
    const bool is_address = !name.empty() && name.find_first_not_of("0123456789.") == std::string::npos;
    nodes.push_back(is_address ? name : name.substr(0, name.find('.')));
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

std::string StoreKey::name() const {
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(hash_of(nodes)));
  return mpi + "." + std::to_string(nodes.size()) + "-node" + (nodes.size() == 1 ? "" : "s") + "." + hash;
}

std::string StoreNetwork::file_name() const {
  return "learned." + plain(transport.empty() ? "unknown" : transport) + "." +
         plain(interface.empty() ? "unknown" : interface) + "." + std::to_string(link_bits_per_s) + ".json";
}

}  // namespace antiphon
