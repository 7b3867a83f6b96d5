// SPDX-License-Identifier: Apache-2.0
/// Times patterns of messages: the library's MPI_Alltoallv, Antiphon's, and phases known ahead, interleaved in one run.
#include <mpi.h>

#include <cstdio>

#include "../collectives/library.hpp"
#include "../collectives/program.hpp"
#include "antiphon/error.hpp"
#include "antiphon/text.hpp"
#include "json/json.hpp"
#include "session.hpp"

namespace bench {

namespace {

const char* const usage =
    "usage: mpirun … antiphon-patterns --patterns FILE [OPTIONS]      (normally started by `antiphon bench "
    "--pattern`)\n"
    "  --patterns FILE            {\"patterns\": [{\"name\": …, \"pattern\": PATTERN}, …], \"fabric\": FABRIC}; read "
    "by rank 0\n"
    "  --modes sync,throughput,burst   default: sync\n"
    "  --contender WORDS          may be repeated; see below; default: library\n"
    "  --budget SECONDS           for one pattern in one mode; default: 5\n"
    "  --yield                    executors of this program give the core away when nothing moves\n"
    "Prints one JSON object per line on stdout, progress on stderr. Exit code 1: a contender gave a wrong "
    "result.\ncontenders:\n";

/// Rank 0 reads the file, and all ranks get its text.
std::string read_everywhere(const std::string& path, int rank) {
  std::string text;
  if (rank == 0) text = antiphon::contents_of(path).value_or("");
  auto size = static_cast<int>(text.size());
  LIBRARY(PMPI_Bcast)(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (size == 0) throw UsageError("--patterns " + path + ": cannot be read, or is empty");
  text.resize(static_cast<std::size_t>(size));
  LIBRARY(PMPI_Bcast)(text.data(), size, MPI_BYTE, 0, MPI_COMM_WORLD);
  return text;
}

void read_patterns(PatternOptions& options, const std::string& text) {
  try {
    const auto document = antiphon::Json::parse(text);
    for (const auto& one : document.at("patterns")) {
      options.patterns.push_back(
          {one.at("name").get<std::string>(), antiphon::pattern_from_json(one.at("pattern").dump())});
    }
    const antiphon::Json* fabric = document.find("fabric");
    options.fabric = antiphon::fabric_from_json(fabric == nullptr ? "{}" : fabric->dump());
  } catch (const antiphon::JsonError& error) {
    throw UsageError(std::string("--patterns: ") + error.what());
  } catch (const antiphon::Error& error) {
    throw UsageError(std::string("--patterns: ") + error.what());
  }
}

void set_option(PatternOptions& options, const std::string& key, const std::string& value, int rank) {
  if (key == "--patterns") {
    read_patterns(options, read_everywhere(value, rank));
  } else if (key == "--modes") {
    options.modes.clear();
    for (const std::string& part : antiphon::split(value, ',')) {
      const auto mode = mode_from_name(part);
      if (!mode) throw UsageError("no mode named " + part);
      options.modes.push_back(*mode);
    }
  } else if (key == "--contender") {
    options.contenders.push_back(value);
  } else if (key == "--budget") {
    options.budget_s = std::stod(value);
  } else {
    throw UsageError("unknown option " + key);
  }
}

PatternOptions parse(int argc, char** argv, int rank) {
  PatternOptions options;
  options.contenders.clear();
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--help" || key == "-h") {
      options.help = true;
      return options;
    }
    if (key == "--yield") {
      options.yield = true;
      continue;
    }
    if (i + 1 == argc) throw UsageError(key + ": unknown, or its value is missing");
    set_option(options, key, argv[++i], rank);
  }
  if (options.contenders.empty()) options.contenders.emplace_back("library");
  if (options.patterns.empty()) throw UsageError("no pattern: --patterns FILE names some");
  return options;
}

int run(int argc, char** argv, int rank) {
  const PatternOptions options = parse(argc, argv, rank);
  if (options.help) {
    if (rank == 0) std::printf("%s%s", usage, contender_usage);
    return 0;
  }
  return PatternSession(options, MPI_COMM_WORLD).run();
}

}  // namespace

}  // namespace bench

int main(int argc, char** argv) { return bench::run_program(argc, argv, bench::run); }
