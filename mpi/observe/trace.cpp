// SPDX-License-Identifier: Apache-2.0
#include "observe/trace.hpp"

#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "job/clock.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "json/json.hpp"
#include "observe/run_facts.hpp"
#include "observe/trace_encoder.hpp"
#include "observe/trace_recorder.hpp"
#include "observe/trace_shape.hpp"
#include "observe/written.hpp"

namespace antiphon::mpi::trace {

namespace {

constexpr std::string_view magic{
    "\x89"
    "ATR\r\n\x1a\n",
    8};
constexpr std::uint64_t version = 1;
constexpr std::uint64_t begin_key = 4;
constexpr int length_tag = 1;
constexpr int data_tag = 2;

std::unique_ptr<Recorder> recorder;
MPI_Comm own = MPI_COMM_NULL;
double zero_s = 0;
int rank = 0;
int size = 1;

/// Returns the tree of switches, and each node's switch in it; nodes are numbered as in the preamble.
Json switches() {
  Json names = Json::array();
  Json above = Json::array();
  for (const SwitchEntry& entry : world.switches.topology.switches) {
    names.push_back(entry.name);
    above.push_back(entry.parent);
  }
  Json of_node = Json::array();
  for (int r = 0; r < size; ++r) {
    const int node = world.switches.node_of_rank[static_cast<std::size_t>(r)];
    if (world.node_of_rank[static_cast<std::size_t>(r)] == r)
      of_node.push_back(world.switches.topology.nodes[static_cast<std::size_t>(node)].switch_index);
  }
  return {{"names", names}, {"above", above}, {"of_node", of_node}, {"source", world.switches.source}};
}

/// Returns the beginning of every file of this run. It numbers the nodes from 0.
std::string preamble() {
  std::vector<int> nodes;
  int count = 0;
  for (int r = 0; r < size; ++r) {
    const int lowest = world.node_of_rank[static_cast<std::size_t>(r)];
    nodes.push_back(lowest == r ? count++ : nodes[static_cast<std::size_t>(lowest)]);
  }
  Json header{{"ranks", size},
              {"nodes", nodes},
              {"hosts", node_names()},
              {"mpi", library_title()},
              {"antiphon", antiphon_version()},
              {"program", program_name()},
              {"started", date_text(std::time(nullptr))},
              {"functions", function_names()}};
  if (world.switches.known()) header["switches"] = switches();
  Encoder e;
  e.append(magic);
  e.varint(version);
  e.text(header.sorted().dump());
  return e.bytes();
}

std::string block_begin(int of_rank, std::uint64_t length) {
  Encoder e;
  e.varint(1 + static_cast<std::uint64_t>(of_rank));
  e.varint(length);
  return e.bytes();
}

void begin_entry() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  Encoder e;
  e.varint(begin_key);
  e.varint(static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec));
  recorder->entry(e.bytes());
}

/// A rank's block is sent in pieces of this size, which any library can send.
constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 24;

void send_stream(std::span<const std::byte> content) {
  std::uint64_t length = content.size();
  PMPI_Send(&length, 1, MPI_UINT64_T, 0, length_tag, own);
  char go = 0;
  PMPI_Recv(&go, 1, MPI_CHAR, 0, data_tag, own, MPI_STATUS_IGNORE);
  for (std::uint64_t at = 0; at < length; at += piece_bytes) {
    PMPI_Send(content.data() + at, static_cast<int>(std::min(piece_bytes, length - at)), MPI_BYTE, 0, data_tag, own);
  }
}

void receive_stream(int from, OutputFile& file) {
  std::uint64_t length = 0;
  PMPI_Recv(&length, 1, MPI_UINT64_T, from, length_tag, own, MPI_STATUS_IGNORE);
  const std::string begin = block_begin(from, length);
  file.write(begin.data(), begin.size());
  const char go = 1;
  PMPI_Send(&go, 1, MPI_CHAR, from, data_tag, own);
  std::vector<std::byte> piece(std::min(piece_bytes, length));
  for (std::uint64_t at = 0; at < length; at += piece_bytes) {
    const std::size_t bytes = std::min(piece_bytes, length - at);
    PMPI_Recv(piece.data(), static_cast<int>(bytes), MPI_BYTE, from, data_tag, own, MPI_STATUS_IGNORE);
    file.write(piece.data(), bytes);
  }
}

/// Writes rank 0's own block and those of all other ranks, on rank 0. Returns false if the file is not complete.
bool gather(const std::string& start) {
  OutputFile file(world.settings.trace);
  const auto content = recorder->buffer().content();
  const std::string begin = block_begin(0, content.size());
  file.write(start.data(), start.size());
  file.write(begin.data(), begin.size());
  file.write(content.data(), content.size());
  for (int from = 1; from < size; ++from) receive_stream(from, file);
  file.write("", 1);
  return finish_output(file, "trace", world.settings.trace);
}

std::string preamble_text;

}  // namespace

void start() {
  if (world.settings.trace.empty()) return;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Comm_dup(MPI_COMM_WORLD, &own);
  preamble_text = preamble();
  const std::string part = world.settings.trace + ".rank" + std::to_string(rank);
  recorder = std::make_unique<Recorder>(part, preamble_text + block_begin(rank, 0),
                                        static_cast<std::size_t>(world.settings.trace_bytes));
  if (!recorder->buffer().on_file()) warn("trace: " + part + " cannot be made; if this rank dies, its calls are lost");
  prepare_shapes();
  PMPI_Barrier(MPI_COMM_WORLD);
  zero_s = now_s();
  begin_entry();
  record_into(recorder.get(), zero_s);
  detail::recording = true;
}

void finish() {
  if (!on()) return;
  detail::recording = false;
  release_shapes();
  record_into(nullptr, 0);
  recorder->finish(ns_since(zero_s, now_s()));
  int good = 1;
  if (rank == 0) good = gather(preamble_text) ? 1 : 0;
  else send_stream(recorder->buffer().content());
  PMPI_Bcast(&good, 1, MPI_INT, 0, own);
  if (good != 0) recorder->buffer().remove_file();
  else if (rank == 0) {
    warn("each rank's part of the trace is beside it, where there was room (hint: antiphon trace --recover FILE)");
  }
  unsigned long long dropped = recorder->dropped();
  unsigned long long all = 0;
  PMPI_Reduce(&dropped, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, own);
  if (all > 0) {
    warn("trace: " + std::to_string(all) + " calls were not recorded: the memory bound of " +
         std::to_string(world.settings.trace_bytes) + " bytes a rank was reached (hint: raise ANTIPHON_TRACE_BYTES)");
  }
  recorder.reset();
  PMPI_Comm_free(&own);
}

}  // namespace antiphon::mpi::trace
