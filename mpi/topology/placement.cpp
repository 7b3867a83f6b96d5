// SPDX-License-Identifier: Apache-2.0
#include "topology/placement.hpp"

#include <mpi.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "job/host_names.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "json/json.hpp"

namespace antiphon::mpi {

namespace {

using Names = std::vector<std::string>;

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

/// Returns the node that a placement (docs/reference/placement.md) wants for each rank. Throws if the text is not one.
Names wanted_nodes(const std::string& text) {
  if (text.empty()) throw std::runtime_error("rank 0 found none");
  auto document = Json::parse(text);
  if (document.at("format") == "antiphon-plan") document = Json(document.at("placement"));
  if (document.at("format") != "antiphon-placement") throw std::runtime_error("its format is not antiphon-placement");
  if (document.at("version") != 1) throw std::runtime_error("it is of another version than 1");
  Names names;
  for (const auto& node : document.at("node_of_rank")) {
    names.push_back(short_name(document.at("nodes").at(node.get<std::size_t>()).at("name").get<std::string>()));
  }
  return names;
}

/// Numbers each rank by the first rank on the same node; two results are equal if they keep the same ranks together.
std::vector<std::size_t> grouping(const Names& names) {
  std::map<std::string, std::size_t> first;
  std::vector<std::size_t> groups;
  for (std::size_t r = 0; r < names.size(); ++r) groups.push_back(first.emplace(names[r], r).first->second);
  return groups;
}

bool share_a_name(const Names& a, const Names& b) {
  const std::set<std::string> known(a.begin(), a.end());
  return std::any_of(b.begin(), b.end(), [&](const std::string& name) { return known.count(name) > 0; });
}

/// Describes what differs from the wanted placement; returns an empty text if nothing does.
std::string difference(const Names& wanted, const Names& found) {
  if (wanted.size() != found.size()) {
    return "it is for " + std::to_string(wanted.size()) + " ranks, and there are " + std::to_string(found.size());
  }
  if (!share_a_name(wanted, found)) {
    // The launcher may know the nodes by other names than they themselves use.
    if (grouping(wanted) == grouping(found)) return "";
    return "it names no node of this job (" + wanted.front() + ", here " + found.front() +
           "), and other ranks share nodes";
  }
  std::string text;
  int wrong = 0;
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    if (wanted[r] == found[r]) continue;
    if (++wrong <= 3)
      text += (wrong > 1 ? ", rank " : "rank ") + std::to_string(r) + " is on " + found[r] + " instead of " + wanted[r];
  }
  return wrong <= 3 ? text : text + ", and " + std::to_string(wrong - 3) + " more of " + std::to_string(wanted.size());
}

/// Compares on rank 0; the result is the difference, or the reason why the placement cannot be read.
std::string compare(const Names& found) {
  try {
    return difference(wanted_nodes(world.settings.placement), found);
  } catch (const std::exception& e) {
    return std::string("the placement cannot be read: ") + e.what();
  }
}

}  // namespace

void check_placement() {
  // A strict placement must be honoured, so it is an error if there is none to compare with.
  if (world.settings.placement.empty() && !world.settings.placement_strict) return;
  Names found = gather_host_names(MPI_COMM_WORLD);
  if (found.empty()) return;  // only rank 0 compares
  for (std::string& name : found) name = short_name(name);
  const std::string wrong = compare(found);
  if (wrong.empty()) {
    if (world.settings.verbose >= 1)
      warn("all " + std::to_string(found.size()) + " ranks are where the placement wants them");
    return;
  }
  warn("the placement was not honoured: " + wrong +
       "; hint: `antiphon run --placement FILE --dry-run` shows what the launcher is told");
  if (!world.settings.placement_strict) return;
  let_launcher_read();
  PMPI_Abort(MPI_COMM_WORLD, 3);
}

}  // namespace antiphon::mpi
