// SPDX-License-Identifier: Apache-2.0
#include "compress/report.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compress/collectives.hpp"
#include "compress/messages.hpp"
#include "observe/text_table.hpp"

namespace antiphon::mpi {

namespace {

/// Counts by communicator and class of links.
using CountsByLink = std::map<std::pair<std::string, std::string>, MessageCounts>;

double seconds(std::uint64_t ns) { return 1e-9 * static_cast<double>(ns); }

Json sizes_of(const MessageCounts& t) {
  auto sizes = Json::array();
  for (std::size_t i = 0; i < t.sizes.size(); ++i) {
    const SizeCounts& one = t.sizes[i];
    if (one.messages == 0) continue;
    sizes.push_back({{"least_bytes", SizeCounts::least_bytes(i)},
                     {"messages", one.messages},
                     {"encoded", one.encoded},
                     {"saved_s", one.saved_s}});
  }
  return sizes;
}

/// Adds what sizes_of() says.
void add_sizes(MessageCounts& t, const Json& sizes) {
  for (const Json& one : sizes) {
    t.sizes[SizeCounts::class_of(one.at("least_bytes").get<std::uint64_t>())] +=
        SizeCounts{one.at("messages").get<std::uint64_t>(), one.at("encoded").get<std::uint64_t>(),
                   one.at("saved_s").get<double>()};
  }
}

Json row_of(const CountsByLink::value_type& entry) {
  const auto& [link, t] = entry;
  return {{"communicator", link.first},
          {"class", link.second},
          {"messages", t.messages},
          {"encoded", t.encoded},
          {"bytes", t.bytes},
          {"wire_bytes", t.wire_bytes},
          {"encode_s", seconds(t.encode_ns)},
          {"decode_s", seconds(t.decode_ns)},
          {"saved_s", t.saved_s},
          {"kept_bytes", t.kept_bytes},
          {"sizes", sizes_of(t)},
          {"rate", static_cast<double>(t.bytes) / std::max(1.0, static_cast<double>(t.wire_bytes))}};
}

/// Adds another rank's row, as row_of() makes it.
void add(CountsByLink& sums, const Json& row) {
  const auto whole = [&](const char* name) { return row.at(name).get<std::uint64_t>(); };
  const auto ns = [&](const char* name) { return static_cast<std::uint64_t>(1e9 * row.at(name).get<double>() + 0.5); };
  MessageCounts counts{.messages = whole("messages"),
                       .encoded = whole("encoded"),
                       .bytes = whole("bytes"),
                       .wire_bytes = whole("wire_bytes"),
                       .encode_ns = ns("encode_s"),
                       .decode_ns = ns("decode_s"),
                       .saved_s = row.at("saved_s").get<double>(),
                       .kept_bytes = whole("kept_bytes")};
  add_sizes(counts, row.at("sizes"));
  sums[{row.at("communicator").as_string(), row.at("class").as_string()}] += counts;
}

/// Data that is passed on is not counted again, though it is shorter too. What is saved counts where frames come in, on
/// each link that they travel.
MessageCounts coded_by_schedules() {
  const CollectiveCoding& c = collective_coding;
  MessageCounts t;
  t.messages = c.pieces;
  t.encoded = c.encoded;
  t.bytes = c.bytes;
  t.wire_bytes = c.frame_bytes;
  t.encode_ns = c.encode_ns;
  t.decode_ns = c.decode_ns;
  const double spent_s = 1e-9 * static_cast<double>(c.encode_ns + c.decode_ns);
  if (framing_state.share_bytes_per_s > 0)
    t.saved_s =
        static_cast<double>(c.decoded_bytes - c.decoded_frame_bytes) / framing_state.share_bytes_per_s - spent_s;
  return t;
}

CountsByLink own_counts() {
  CountsByLink counts;
  for (const Messages::Sum& sum : Messages::sums()) {
    counts[{sum.label, "between nodes"}] += sum.far;
    counts[{sum.label, "within nodes"}] += sum.near;
  }
  counts[{"(all)", "collectives"}] += coded_by_schedules();
  std::erase_if(counts, [](const auto& entry) { return entry.second.messages == 0 && entry.second.decode_ns == 0; });
  return counts;
}

/// Returns the rows of these counts.
Json rows_of(const CountsByLink& counts) {
  auto rows = Json::array();
  for (const auto& entry : counts) rows.push_back(row_of(entry));
  return rows;
}

/// Returns every rank's text on rank 0.
std::vector<std::string> gather(const std::string& own) {
  int rank = 0;
  int ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks));
  PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> places(lengths.size());
  int end = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) places[i] = std::exchange(end, end + lengths[i]);
  std::string all(static_cast<std::size_t>(end), ' ');
  PMPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t i = 0; rank == 0 && i < lengths.size(); ++i) {
    texts.push_back(all.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

}  // namespace

Json compression_rows() {
  if (!framing_state.compresses) return Json::array();
  CountsByLink sums;
  for (const std::string& text : gather(rows_of(own_counts()).dump())) {
    for (const Json& row : Json::parse(text)) add(sums, row);
  }
  return rows_of(sums);
}

Json compression_terms() {
  if (framing_state.why.empty()) return nullptr;
  return framing_state.why;
}

void print_compression_terms(std::FILE* out, const Json& terms) {
  if (!terms.is_null()) print_note(out, "antiphon: compression: ", terms.as_string());
}

void print_compression(std::FILE* out, const Json& rows) {
  if (rows.empty()) return;
  std::fprintf(out, "antiphon: messages of at least %s, and pieces of those of collectives (sums over ranks)\n",
               bytes_text(static_cast<double>(framing_state.least_bytes)).c_str());
  TextTable table;
  table.column("link", false).column("messages").column("encoded").column("bytes").column("sent as");
  table.column("coding").column("saved").column("communicator", false);
  for (const auto& row : rows) {
    const auto number = [&](const char* key) { return row.at(key).get<double>(); };
    table.row({row.at("class").as_string(), std::to_string(row.at("messages").as_integer()),
               std::to_string(row.at("encoded").as_integer()), bytes_text(number("bytes")),
               bytes_text(number("wire_bytes")), time_text(number("encode_s") + number("decode_s")),
               time_text(number("saved_s")), row.at("communicator").as_string()});
  }
  table.print(out);
}

}  // namespace antiphon::mpi
