// SPDX-License-Identifier: Apache-2.0
#include "observe/summary.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <vector>

#include "job/clock.hpp"
#include "job/world.hpp"
#include "observe/clocks.hpp"
#include "observe/metrics.hpp"
#include "observe/run_facts.hpp"
#include "observe/summary_rows.hpp"
#include "observe/summary_text.hpp"
#include "observe/written.hpp"

namespace antiphon::mpi::summary {

namespace {

std::mutex mutex;
Rows rows;
MPI_Comm own = MPI_COMM_NULL;  ///< for messages of this file alone
std::time_t started = 0;
ClockReading first_reading;

/// Returns the mean over ranks, on rank 0.
double mean(double value, int ranks) {
  double sum = 0;
  PMPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, own);
  return sum / ranks;
}

/// Makes the document, on rank 0.
Json make_document(int ranks) {
  const ClockReading last = read_clocks(own);
  const double run_s = mean(last.local_s - first_reading.local_s, ranks);
  double error_s = std::max(first_reading.error_s, last.error_s);
  PMPI_Allreduce(MPI_IN_PLACE, &error_s, 1, MPI_DOUBLE, MPI_MAX, own);
  const std::vector<std::string> hosts = node_names();
  Json all{{"version", 2},
           {"antiphon", antiphon_version()},
           {"mpi", library_title()},
           {"program", program_name()},
           {"started", date_text(started)},
           {"run_s", run_s},
           {"ranks", ranks},
           {"nodes", hosts.size()},
           {"hosts", hosts},
           {"clock_error_s", error_s},
           {"collectives", rows.of_all_ranks(run_s, {first_reading, last}, own)}};
  if (all.at("collectives").empty())
    all["nothing_seen"] = "the program makes none, or its calls do not reach Antiphon (hint: `antiphon doctor`)";
  return all;
}

/// Holds what a section collects.
struct Collected {
  const Section& section;
  Json data;
};

void print_all(std::FILE* out, const Json& document, const std::vector<Collected>& parts) {
  print(out, document);
  for (const Collected& part : parts) part.section.print(out, part.data);
}

Json with_parts(const Json& document, const std::vector<Collected>& parts) {
  Json all = document;
  for (const Collected& part : parts) {
    if (!part.data.is_null()) all[part.section.key] = part.data;
  }
  return all;
}

void write_text(OutputFile& file, const std::string& text) { file.write(text.data(), text.size()); }

/// Writes the summary to the place that the settings name, on rank 0.
void put_summary(const Json& document, const std::vector<Collected>& parts) {
  const std::string& where = world.settings.summary;
  if (where == "1") return print_all(stderr, document, parts);
  OutputFile file(where);
  if (where.ends_with(".json")) {
    write_text(file, with_parts(document, parts).sorted().dump(2) + '\n');
  } else if (file.stream() != nullptr) {
    print_all(file.stream(), document, parts);
  }
  finish_output(file, "summary", where);
}

/// The same for the metrics.
void put_metrics(const Json& document, const std::vector<Collected>& parts) {
  const std::string& where = world.settings.metrics;
  OutputFile file(where);
  write_text(file, metrics_text(with_parts(document, parts)));
  finish_output(file, "metrics", where);
}

}  // namespace

bool enabled() { return !world.settings.summary.empty() || !world.settings.metrics.empty(); }

void start() {
  if (!enabled()) return;
  PMPI_Comm_dup(MPI_COMM_WORLD, &own);
  started = std::time(nullptr);
  first_reading = read_clocks(own);
}

void count(const CountedCall& call) {
  const std::lock_guard lock(mutex);
  rows.count(call);
}

void write(const std::vector<Section>& sections) {
  int rank = 0;
  int ranks = 1;
  PMPI_Comm_rank(own, &rank);
  PMPI_Comm_size(own, &ranks);
  const Json document = make_document(ranks);
  std::vector<Collected> parts;
  for (const Section& section : sections) parts.push_back({section, section.collect()});
  if (rank == 0 && !world.settings.summary.empty()) put_summary(document, parts);
  if (rank == 0 && !world.settings.metrics.empty()) put_metrics(document, parts);
  PMPI_Comm_free(&own);
}

MPI_Comm own_comm() { return own; }

}  // namespace antiphon::mpi::summary
