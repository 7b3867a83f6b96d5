// SPDX-License-Identifier: Apache-2.0
#include "entry/learned.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "entry/evidence.hpp"
#include "observe/merge.hpp"
#include "observe/summary.hpp"
#include "observe/text_table.hpp"

namespace antiphon::mpi::learned {

namespace {

/// What is kept of communicators that are gone; a program may make any number of them.
constexpr std::size_t most_kept = 256;

std::mutex mutex;
std::vector<Evidence*> present;
std::vector<Json> gone_rows, gone_rules;
std::map<std::string, Turns> gone_turns;  ///< by Evidence::name_of_all()

bool equal(const Json& a, const Json& b, std::initializer_list<const char*> keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const char* key) {
    const Json* const left = a.find(key);
    const Json* const right = b.find(key);
    return left == nullptr || right == nullptr ? left == right : *left == *right;
  });
}

/// Adds a row; communicators of the same shape with the same result share one.
void put_row(std::vector<Json>& rows, const Json& row) {
  const auto same = std::find_if(rows.begin(), rows.end(), [&](const Json& other) {
    return equal(row, other, {"collective", "least_bytes", "ranks", "nodes", "in_use", "tried", "decided"});
  });
  if (same == rows.end()) {
    if (rows.size() < most_kept) rows.push_back(row);
    return;
  }
  const auto calls = same->at("calls").get<std::int64_t>() + row.at("calls").get<std::int64_t>();
  if (row.at("pairs").get<std::int64_t>() > same->at("pairs").get<std::int64_t>()) *same = row;
  (*same)["calls"] = calls;
}

/// Adds a rule; the latest of those for the same calls counts.
void put_rule(std::vector<Json>& rules, const Json& rule) {
  const auto same = std::find_if(rules.begin(), rules.end(), [&](const Json& other) {
    return equal(rule, other,
                 {"collective", "bytes", "ranks", "nodes", "ranks_per_node", "blocked", "stride", "nonblocking",
                  "commutative", "exact"});
  });
  if (same != rules.end()) *same = rule;
  else if (rules.size() < most_kept) rules.push_back(rule);
}

Json merged(const Json& some, const Json& others) {
  std::vector<Json> all(some.begin(), some.end());
  for (const Json& row : others) put_row(all, row);
  return all;
}

}  // namespace

void add(Evidence& evidence) {
  const std::lock_guard lock(mutex);
  present.push_back(&evidence);
  if (gone_turns.empty()) return;
  if (const auto known = gone_turns.find(evidence.name_of_all()); known != gone_turns.end())
    evidence.offer(known->second);
}

void remove(const Evidence& evidence) {
  const std::lock_guard lock(mutex);
  std::erase(present, &evidence);
  if (const Json row = evidence.row(); !row.is_null() && evidence.rank() == 0) put_row(gone_rows, row);
  if (const Json rule = evidence.rule(); !rule.is_null()) put_rule(gone_rules, rule);
  if (evidence.turns().taken_ns() <= 0) return;  // it knows less than what it was offered
  if (gone_turns.size() >= most_kept) gone_turns.clear();
  gone_turns.insert_or_assign(evidence.name_of_all(), evidence.turns());
}

void finish_sharing() {
  std::vector<Evidence*> all;
  {
    const std::lock_guard lock(mutex);
    all = present;
  }
  for (Evidence* const evidence : all) evidence->finish_sharing();
}

Json rows() {
  std::vector<Json> own;
  {
    const std::lock_guard lock(mutex);
    own = gone_rows;
    for (const Evidence* evidence : present) {
      // The lowest rank of each communicator speaks for all its ranks, which know the same.
      if (const Json row = evidence->row(); !row.is_null() && evidence->rank() == 0) put_row(own, row);
    }
  }
  return merge_over_ranks(own, merged, summary::own_comm());
}

void print(std::FILE* out, const Json& rows) {
  if (rows.empty()) return;
  std::fputs("antiphon: tried by turns (the slowest rank's time; lost: by trying, of all these calls' time)\n", out);
  TextTable table;
  table.column("collective", false).column("bytes").column("ranks").column("calls").column("in use", false);
  table.column("time").column("tried", false).column("time").column("pairs").column("lost").column("", false);
  for (const Json& row : rows) {
    const auto number = [&](const char* key) { return row.at(key).get<double>(); };
    const bool sized = !row.at("least_bytes").is_null();
    const std::string bytes = sized ? bytes_text(number("least_bytes")) + " …" : "any";
    table.row({row.at("collective").as_string(), bytes, std::to_string(row.at("ranks").get<std::int64_t>()),
               std::to_string(row.at("calls").get<std::int64_t>()), row.at("in_use").as_string(),
               time_text(number("in_use_s")), row.at("tried").as_string(), time_text(number("tried_s")),
               std::to_string(row.at("pairs").get<std::int64_t>()), percent_text(number("lost")),
               row.at("decided").get<bool>() ? "" : "not decided"});
  }
  table.print(out);
}

std::string rules() {
  const std::lock_guard lock(mutex);
  std::vector<Json> all = gone_rules;
  for (const Evidence* evidence : present) {
    if (const Json rule = evidence->rule(); !rule.is_null()) put_rule(all, rule);
  }
  if (all.empty()) return "";
  return Json{{"version", 1}, {"rules", all}}.dump(1);
}

}  // namespace antiphon::mpi::learned
