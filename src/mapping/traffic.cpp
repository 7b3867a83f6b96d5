// SPDX-License-Identifier: Apache-2.0
// The sparse traffic graph: its entries are sorted and summed, and stored in a binary file
// (docs/reference/mapping-files.md).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "antiphon/error.hpp"
#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

namespace {

constexpr std::string_view magic = "APTRAFF1";
constexpr std::int64_t max_ranks = std::int64_t{1} << 24;
constexpr std::int64_t max_entries = std::int64_t{1} << 32;

void check_entry(int ranks, const TrafficEntry& e) {
  if (e.from < 0 || e.from >= ranks || e.to < 0 || e.to >= ranks) {
    throw InvalidArgument("traffic from rank " + std::to_string(e.from) + " to " + std::to_string(e.to) +
                          ": there are ranks 0 to " + std::to_string(ranks - 1));
  }
  if (!(e.messages >= 0) || !(e.bytes >= 0) || !std::isfinite(e.messages) || !std::isfinite(e.bytes)) {
    throw InvalidArgument("traffic from rank " + std::to_string(e.from) + " to " + std::to_string(e.to) +
                          " is not a number of at least 0");
  }
}

/// Returns where each sender's entries begin after a stable sort by sender.
std::vector<std::int64_t> order_by_sender(int ranks, std::span<const TrafficEntry> entries,
                                          std::vector<std::int64_t>& first) {
  first.assign(static_cast<std::size_t>(ranks) + 1, 0);
  for (const TrafficEntry& e : entries) ++first[static_cast<std::size_t>(e.from) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int64_t> next(first.begin(), first.end() - 1);
  std::vector<std::int64_t> order(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    order[static_cast<std::size_t>(next[static_cast<std::size_t>(entries[i].from)]++)] = static_cast<std::int64_t>(i);
  return order;
}

template <class T>
void put(std::string& out, std::span<const T> values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

template <class T>
std::vector<T> take(std::string_view& data, std::size_t count) {
  if (data.size() / sizeof(T) < count) throw FormatError("the traffic file is cut short");
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), data.data(), count * sizeof(T));
  data.remove_prefix(count * sizeof(T));
  return values;
}

/// Checks the arrays of a file, so that nothing reads beyond them.
void check_rows(const TrafficGraph& g) {
  if (g.first.front() != 0 || g.first.back() != static_cast<std::int64_t>(g.to.size())) {
    throw FormatError("the traffic file's rows do not span its entries");
  }
  for (int r = 0; r < g.ranks; ++r) {
    const auto begin = g.first[static_cast<std::size_t>(r)];
    const auto end = g.first[static_cast<std::size_t>(r) + 1];
    if (end < begin || end > g.first.back()) throw FormatError("the traffic file's rows do not follow one another");
  }
}

}  // namespace

TrafficGraph TrafficGraph::of_entries(int ranks, std::span<const TrafficEntry> entries) {
  if (ranks < 1 || ranks > max_ranks)
    throw InvalidArgument("traffic needs at least one rank and at most " + std::to_string(max_ranks));
  for (const TrafficEntry& e : entries) check_entry(ranks, e);
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> order = order_by_sender(ranks, entries, first);
  TrafficGraph g;
  g.ranks = ranks;
  g.first.push_back(0);
  for (int r = 0; r < ranks; ++r) {
    const auto begin = order.begin() + first[static_cast<std::size_t>(r)];
    const auto end = order.begin() + first[static_cast<std::size_t>(r) + 1];
    std::stable_sort(begin, end, [&](auto a, auto b) {
      return entries[static_cast<std::size_t>(a)].to < entries[static_cast<std::size_t>(b)].to;
    });
    const std::size_t row = g.to.size();
    for (auto it = begin; it != end; ++it) {
      const TrafficEntry& e = entries[static_cast<std::size_t>(*it)];
      if (e.to == r || (e.messages == 0 && e.bytes == 0)) continue;
      if (g.to.size() > row && g.to.back() == e.to) {
        g.messages.back() += e.messages;
        g.bytes.back() += e.bytes;
        continue;
      }
      g.to.push_back(e.to);
      g.messages.push_back(e.messages);
      g.bytes.push_back(e.bytes);
    }
    g.first.push_back(static_cast<std::int64_t>(g.to.size()));
  }
  return g;
}

TrafficGraph TrafficGraph::of(const Traffic& dense) {
  std::vector<TrafficEntry> entries;
  for (int from = 0; from < dense.size; ++from) {
    for (int to = 0; to < dense.size; ++to) {
      const std::size_t cell = dense.cell(from, to);
      if (dense.messages[cell] == 0 && dense.bytes[cell] == 0) continue;
      entries.push_back({from, to, static_cast<double>(dense.messages[cell]), static_cast<double>(dense.bytes[cell])});
    }
  }
  return of_entries(dense.size, entries);
}

TrafficGraph TrafficGraph::of_binary(std::string_view data) {
  if (!data.starts_with(magic))
    throw FormatError("not a binary traffic file: it does not begin with \"" + std::string(magic) + "\"");
  data.remove_prefix(magic.size());
  const auto sizes = take<std::int64_t>(data, 2);
  if (sizes[0] < 1 || sizes[0] > max_ranks) {
    throw FormatError("the traffic file's number of ranks is not in 1 to " + std::to_string(max_ranks));
  }
  if (sizes[1] < 0 || sizes[1] > max_entries) throw FormatError("the traffic file's number of entries makes no sense");
  TrafficGraph g;
  g.ranks = static_cast<int>(sizes[0]);
  const auto entries = static_cast<std::size_t>(sizes[1]);
  g.first = take<std::int64_t>(data, static_cast<std::size_t>(sizes[0]) + 1);
  g.messages = take<double>(data, entries);
  g.bytes = take<double>(data, entries);
  g.to = take<std::int32_t>(data, entries);
  if (!data.empty()) throw FormatError("the traffic file goes on behind its end");
  check_rows(g);
  std::vector<TrafficEntry> all;
  all.reserve(entries);
  for (int r = 0; r < g.ranks; ++r) {
    for (auto e = static_cast<std::size_t>(g.first[static_cast<std::size_t>(r)]);
         e < static_cast<std::size_t>(g.first[static_cast<std::size_t>(r) + 1]); ++e) {
      all.push_back({r, g.to[e], g.messages[e], g.bytes[e]});
    }
  }
  return of_entries(g.ranks, all);
}

std::string TrafficGraph::to_binary() const {
  std::string out(magic);
  const std::int64_t sizes[] = {ranks, static_cast<std::int64_t>(to.size())};
  put<std::int64_t>(out, sizes);
  put<std::int64_t>(out, first);
  put<double>(out, messages);
  put<double>(out, bytes);
  put<std::int32_t>(out, to);
  return out;
}

double TrafficGraph::total_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }
double TrafficGraph::total_messages() const { return std::accumulate(messages.begin(), messages.end(), 0.0); }

}  // namespace antiphon::mapping
