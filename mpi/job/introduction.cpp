// SPDX-License-Identifier: Apache-2.0
#include "job/introduction.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "job/node_name.hpp"
#include "job/shared_text.hpp"
#include "network/cores.hpp"

namespace antiphon::mpi {

namespace {

constexpr char yes = 'y';
constexpr char no = 'n';

/// Returns, on rank 0, the four answers and then each rank's node.
std::vector<int> summed_up(const std::vector<std::string>& told) {
  const auto size = static_cast<int>(told.size());
  std::vector<int> all{size, 0, 0, 0};
  network::Cores cores;
  std::map<std::string, int> lowest;
  for (int rank = 0; rank < size; ++rank) {
    const std::string& text = told[static_cast<std::size_t>(rank)];
    if (text[0] == yes) all[0] = std::min(all[0], rank);
    if (text[1] == yes) all[1] = 1;
    if (text[2] == yes) all[2] = 1;
    const std::size_t end = text.find(' ');
    cores.add(network::Cores::parse(text.substr(3, end - 3)));
    all.push_back(lowest.emplace(text.substr(end + 1), rank).first->second);
  }
  if (lowest.size() == 1) all[3] = cores.count();
  return all;
}

}  // namespace

Introduction introduce(bool has_own_settings, bool may_have_devices, bool has_threads) {
  const std::string own = {has_own_settings ? yes : no, may_have_devices ? yes : no, has_threads ? yes : no};
  const std::string cores = network::Cores::of_this_process().text();
  const std::vector<int> on_rank_0 = summed_up(gather_texts(own + cores + ' ' + node_name()));
  const std::string told =
      from_rank_0({reinterpret_cast<const char*>(on_rank_0.data()), on_rank_0.size() * sizeof(int)});
  std::vector<int> all(told.size() / sizeof(int));
  std::memcpy(all.data(), told.data(), told.size());
  return {.first_different = all.at(0),
          .some_may_have_devices = all.at(1) != 0,
          .some_have_threads = all.at(2) != 0,
          .cores = all.at(3),
          .node_of_rank = {all.begin() + 4, all.end()}};
}

}  // namespace antiphon::mpi
