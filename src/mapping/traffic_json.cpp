// SPDX-License-Identifier: Apache-2.0
// Traffic as JSON (docs/reference/mapping-files.md): a list of entries, or paper 2's two matrices.

#include "antiphon/error.hpp"
#include "antiphon/mapping.hpp"
#include "antiphon/text.hpp"
#include "mapping/json.hpp"

namespace antiphon::mapping {

namespace {

constexpr std::size_t max_traffic_bytes = std::size_t{1} << 30;
constexpr double max_value = 1e30;

std::vector<TrafficEntry> read_entries(const JsonNode& list, int ranks) {
  const std::size_t count = list.array_size();
  std::vector<TrafficEntry> entries;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode e = list.element(i);
    if (e.array_size(4) != 4) e.fail("expected [from, to, messages, bytes]");
    entries.push_back({static_cast<int>(e.element(0).integer(0, ranks - 1)),
                       static_cast<int>(e.element(1).integer(0, ranks - 1)), e.element(2).number(0, max_value),
                       e.element(3).number(0, max_value)});
  }
  return entries;
}

/// Calls take(row, column, number) for a matrix of ranks · ranks numbers.
template <class Take>
void read_matrix(const JsonNode& matrix, int ranks, Take take) {
  const auto size = static_cast<std::size_t>(ranks);
  if (matrix.array_size() != size) matrix.fail("expected a row for each of " + std::to_string(ranks) + " ranks");
  for (std::size_t from = 0; from < size; ++from) {
    const JsonNode row = matrix.element(from);
    if (row.array_size() != size) row.fail("expected a number for each of " + std::to_string(ranks) + " ranks");
    for (std::size_t to = 0; to < size; ++to)
      take(static_cast<int>(from), static_cast<int>(to), row.element(to).number(0, max_value));
  }
}

std::vector<TrafficEntry> read_matrices(const JsonNode& bytes, const JsonNode& messages, int ranks) {
  std::vector<TrafficEntry> entries;
  read_matrix(bytes, ranks, [&](int from, int to, double value) {
    if (value > 0) entries.push_back({from, to, 0, value});
  });
  read_matrix(messages, ranks, [&](int from, int to, double value) {
    if (value > 0) entries.push_back({from, to, value, 0});
  });
  return entries;
}

}  // namespace

TrafficGraph read_traffic(const JsonNode& document) {
  if (!document.is_object()) document.fail("expected an object");
  document.allow_only({"format", "version", "name", "ranks", "entries", "messages", "bytes", "details"});
  const std::int64_t listed = document.find("bytes") ? static_cast<std::int64_t>(document.at("bytes").array_size()) : 1;
  const auto ranks = static_cast<int>(document.integer_or("ranks", listed, 1, std::int64_t{1} << 24));
  if (const auto list = document.find("entries")) return TrafficGraph::of_entries(ranks, read_entries(*list, ranks));
  const JsonNode bytes = document.at("bytes");
  const JsonNode messages = document.at("messages");
  return TrafficGraph::of_entries(ranks, read_matrices(bytes, messages, ranks));
}

TrafficGraph TrafficGraph::parse(std::string_view json) {
  const Json document = JsonNode::parse(json, max_traffic_bytes);
  return read_traffic(JsonNode(document));
}

std::string read_file(const std::string& path) {
  auto text = contents_of(path);
  if (!text) throw FormatError(path + " cannot be read; hint: is the path right?");
  return *std::move(text);
}

TrafficGraph TrafficGraph::read(const std::string& path) {
  const std::string data = read_file(path);
  try {
    return data.starts_with("APTRAFF1") ? of_binary(data) : parse(data);
  } catch (const Error& e) {
    throw FormatError(path + ": " + e.what());
  }
}

}  // namespace antiphon::mapping
