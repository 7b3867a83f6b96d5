// SPDX-License-Identifier: Apache-2.0
#include "profile/hosts.hpp"

#include <algorithm>

#include "json/node.hpp"

namespace antiphon {

namespace {

/// Messages within a node up to this size are copied twice.
constexpr std::int64_t memory_eager_bytes = 4096;
/// Of a schedule's messages within a node, from this size on receivers copy from their senders' memory.
constexpr std::int64_t fetched_from_bytes = 16 << 10;
constexpr double us = 1e-6;
constexpr double mb = 1e6;

/// A row's typical values.
class Row {
 public:
  explicit Row(const JsonNode& row) : row_(row) {}

  [[nodiscard]] double link_bits_per_s() const { return row_.at("link_bits_per_s").number(1, 1e15); }
  [[nodiscard]] std::int64_t eager_bytes() const { return row_.at("eager_bytes").integer(0); }
  [[nodiscard]] double value(const char* name) const {
    const JsonNode range = row_.at(name);
    return range.element(1).number(0, 1e9);
  }

 private:
  const JsonNode& row_;
};

/// Work by a line through 0 and the eager limit: from there on the model goes on by what is below.
Curve work_of(double message_s, double bytes_per_s, std::int64_t eager_bytes) {
  return Curve({{0, message_s}, {eager_bytes, message_s + static_cast<double>(eager_bytes) / bytes_per_s}});
}

LinkClass memory_of(const Row& row) {
  const double half_s = row.value("memory_us") * us / 2;
  const double rate = row.value("memory_mb_per_s") * mb;
  const Curve copying = work_of(half_s, 2 * rate, memory_eager_bytes);
  const Curve copied_once = Curve::line(half_s, rate);
  LinkClass link{"node", Scope::node, 2 * half_s, copying, copying, copied_once, memory_eager_bytes};
  link.shared_memory = {2 * half_s, copied_once, fetched_from_bytes};
  return link;
}

/// The next message follows when the wire, the connection and both processors are done with this one. A long message is
/// announced and answered first.
Curve gap_of(const Row& row, double port_bytes_per_s) {
  const double core = row.value("core_mb_per_s") * mb;
  const double connection = row.value("connection_mb_per_s") * mb;
  const double rate = connection > 0 ? std::min(connection, port_bytes_per_s) : port_bytes_per_s;
  const double message_s = std::max(row.value("send_us"), row.value("receive_us")) * us;
  const double asking_s = 2 * row.value("latency_us") * us;
  std::vector<Curve::Point> points;
  const auto add = [&](std::int64_t size, double more_s) {
    const auto bytes = static_cast<double>(size);
    points.push_back({size, std::max(message_s + bytes / core, bytes / rate) + more_s});
  };
  const std::int64_t eager = row.eager_bytes();
  add(0, 0);
  constexpr int smallest = 9;
  constexpr int largest = 26;
  for (int shift = smallest; shift <= largest; ++shift) {
    const std::int64_t size = std::int64_t{1} << shift;
    if (size < eager) add(size, 0);
    if (points.back().bytes < eager && 2 * size > eager) add(eager, 0), add(eager, asking_s);
    if (size > eager) add(size, asking_s);
  }
  return Curve(std::move(points));
}

}  // namespace

std::vector<LinkClass> usual_links(double link_bits_per_s, double port_bytes_per_s) {
  static const Json table = Json::parse(hosts_json);
  const JsonNode rows(table);
  std::size_t chosen = 0;  // The rows are in the order of their links.
  while (chosen + 1 < rows.array_size()) {
    const JsonNode slower = rows.element(chosen);
    if (Row(slower).link_bits_per_s() >= link_bits_per_s) break;
    ++chosen;
  }
  const JsonNode node = rows.element(chosen);
  const Row row(node);
  const double core = row.value("core_mb_per_s") * mb;
  LinkClass link{"switch",
                 Scope::same_switch,
                 row.value("latency_us") * us,
                 work_of(row.value("send_us") * us, core, row.eager_bytes()),
                 work_of(row.value("receive_us") * us, core, row.eager_bytes()),
                 gap_of(row, port_bytes_per_s),
                 row.eager_bytes()};
  link.connection_bytes_per_s = row.value("connection_mb_per_s") * mb;
  return {memory_of(row), std::move(link)};
}

}  // namespace antiphon
