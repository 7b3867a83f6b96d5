// SPDX-License-Identifier: Apache-2.0
#include "observe/summary.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "job/world.hpp"
#include "observe/written.hpp"

namespace antiphon::mpi::summary {

namespace {

struct SizeClass {
  std::int64_t most_bytes;
  const char* name;
};
constexpr std::array<SizeClass, 6> classes{{{256, "≤ 256 B"},
                                            {4096, "≤ 4 KiB"},
                                            {32768, "≤ 32 KiB"},
                                            {262144, "≤ 256 KiB"},
                                            {2097152, "≤ 2 MiB"},
                                            {INT64_MAX, "> 2 MiB"}}};
constexpr std::size_t cells = kind_count * classes.size();

/// Holds a number for each kind of call and class of sizes.
using Cells = std::array<double, cells>;

/// Combines the numbers of all ranks; the result is on rank 0.
Cells reduce(const Cells& own, MPI_Op op) {
  Cells all{};
  PMPI_Reduce(own.data(), all.data(), static_cast<int>(cells), MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
  return all;
}

std::mutex mutex;
Cells calls{};
Cells bytes_moved{};
Cells seconds{};
/// Counts, on this rank, in how many calls each algorithm is used.
std::array<std::map<std::string, long>, cells> algorithms;

std::size_t class_of(std::int64_t bytes) {
  std::size_t i = 0;
  while (bytes > classes[i].most_bytes) ++i;
  return i;
}

/// Returns a text such as "rotated, library (3 of 20)", with the most used one first.
std::string used_text(const std::map<std::string, long>& used) {
  std::vector<std::pair<long, std::string>> order;
  long all = 0;
  for (const auto& [what, n] : used) {
    order.emplace_back(n, what);
    all += n;
  }
  std::sort(order.rbegin(), order.rend());
  std::string text;
  for (const auto& [n, what] : order) {
    text += (text.empty() ? "" : ", ") + what;
    if (order.size() > 1) text += " (" + std::to_string(n) + " of " + std::to_string(all) + ")";
  }
  return text;
}

Json rows(const Cells& most_calls, const Cells& all_bytes, const Cells& all_seconds, const Cells& most_seconds,
          int ranks) {
  auto list = Json::array();
  for (std::size_t i = 0; i < cells; ++i) {
    if (most_calls[i] == 0) continue;
    list.push_back({{"collective", kind_name(static_cast<int>(i / classes.size()))},
                    {"size_class", classes[i % classes.size()].name},
                    {"calls", static_cast<std::int64_t>(most_calls[i])},
                    {"bytes", static_cast<std::int64_t>(all_bytes[i])},
                    {"time_s", all_seconds[i] / ranks},
                    {"max_time_s", most_seconds[i]},
                    {"algorithm", algorithms[i].empty() ? "(other ranks)" : used_text(algorithms[i])}});
  }
  return list;
}

/// These are the alltoallv calls of all ranks that fit the plan, and those that do not.
std::array<std::int64_t, 2> planned_calls{};

Json document(const Json& list, int ranks) {
  Json all{{"version", 1}, {"ranks", ranks}, {"collectives", list}};
  if (!world.settings.plan.empty())
    all["plan"] = {{"matched_calls", planned_calls[0]}, {"other_calls", planned_calls[1]}};
  return all;
}

void print_table(std::FILE* out, const Json& list) {
  if (!world.settings.plan.empty()) {
    std::fprintf(out, "antiphon: %ld of %ld Alltoallv calls (of all ranks) were as the plan says\n",
                 static_cast<long>(planned_calls[0]), static_cast<long>(planned_calls[0] + planned_calls[1]));
  }
  if (list.empty()) {
    std::fprintf(out, "antiphon: no collective call was seen in this run\n");
    return;
  }
  std::fprintf(out, "antiphon: collectives of this run (calls: most of any rank; time: mean over ranks)\n");
  std::fprintf(out, "  %-21s %-11s %9s %14s %10s  %s\n", "collective", "bytes", "calls", "bytes in all", "time, s",
               "algorithm");
  for (const auto& row : list) {
    const auto size_class = row.at("size_class").get<std::string>();
    // The sign "≤" is three bytes long but one column wide.
    const int pad = size_class.rfind("≤", 0) == 0 ? 13 : 11;
    std::fprintf(out, "  %-21s %-*s %9ld %14ld %10.4f  %s\n", row.at("collective").get<std::string>().c_str(), pad,
                 size_class.c_str(), row.at("calls").get<long>(), row.at("bytes").get<long>(),
                 row.at("time_s").get<double>(), row.at("algorithm").get<std::string>().c_str());
  }
}

/// Holds what a section collects.
struct Collected {
  const Section& section;
  Json data;
};

void print(std::FILE* out, const Json& list, const std::vector<Collected>& parts) {
  print_table(out, list);
  for (const Collected& part : parts) part.section.print(out, part.data);
}

/// Writes to the place that the settings name, on rank 0.
void put(const Json& list, const std::vector<Collected>& parts, int ranks) {
  const std::string& where = world.settings.summary;
  if (where == "1") return print(stderr, list, parts);
  OutputFile file(where);
  if (where.ends_with(".json")) {
    auto all = document(list, ranks);
    for (const Collected& part : parts) {
      if (!part.data.is_null()) all[part.section.key] = part.data;
    }
    const std::string text = all.sorted().dump(2) + '\n';
    file.write(text.data(), text.size());
  } else if (file.stream() != nullptr) {
    print(file.stream(), list, parts);
  }
  finish_output(file, "summary", where);
}

}  // namespace

bool enabled() { return !world.settings.summary.empty(); }

void count(int kind, std::int64_t bytes, double time_s, const std::string& used) {
  const std::size_t cell = static_cast<std::size_t>(kind) * classes.size() + class_of(bytes);
  const std::lock_guard lock(mutex);
  calls[cell] += 1;
  bytes_moved[cell] += static_cast<double>(bytes);
  seconds[cell] += time_s;
  ++algorithms[cell][used];
}

void write(const std::vector<Section>& sections) {
  int rank = 0;
  int ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Cells most_calls = reduce(calls, MPI_MAX);
  const Cells all_bytes = reduce(bytes_moved, MPI_SUM);
  const Cells all_seconds = reduce(seconds, MPI_SUM);
  const Cells most_seconds = reduce(seconds, MPI_MAX);
  const std::array<std::int64_t, 2> own{world.planned_calls.load(), world.unplanned_calls.load()};
  PMPI_Reduce(own.data(), planned_calls.data(), 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  std::vector<Collected> parts;
  for (const Section& section : sections) parts.push_back({section, section.collect()});
  if (rank == 0) put(rows(most_calls, all_bytes, all_seconds, most_seconds, ranks), parts, ranks);
}

}  // namespace antiphon::mpi::summary
