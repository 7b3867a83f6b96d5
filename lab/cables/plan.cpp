// SPDX-License-Identifier: Apache-2.0
#include "cables/plan.hpp"

#include <limits>

#include "json/node.hpp"

namespace antiphon::cables {

namespace {

constexpr std::size_t most_directions = 4096, most_text_bytes = 4 << 20;
constexpr std::int64_t most_bytes = 1LL << 40, most_bits_per_s = 1LL << 42, most_latency_ns = 10'000'000'000;

Terms terms_of(const JsonNode& node) {
  return {.bits_per_s = node.integer_or("bits_per_s", 0, 0, most_bits_per_s),
          .burst_bytes = node.integer_or("burst_bytes", 0, 0, most_bytes),
          .buffer_bytes = node.integer_or("buffer_bytes", 0, 0, most_bytes),
          .mark_bytes = node.integer_or("mark_bytes", 0, 0, most_bytes),
          .latency_ns = node.integer_or("latency_ns", 0, 0, most_latency_ns)};
}

int descriptor(const JsonNode& node) { return static_cast<int>(node.integer(0, std::numeric_limits<int>::max())); }

}  // namespace

Plan Plan::parse(std::string_view text) {
  const Json document = JsonNode::parse(text, most_text_bytes);
  const JsonNode root(document);
  root.allow_only({"pools_bytes", "directions", "counts_file"});
  Plan plan;
  const JsonNode pools = root.at("pools_bytes"), directions = root.at("directions"), file = root.at("counts_file");
  plan.counts_file = file.text();
  for (std::size_t i = 0; i < pools.array_size(most_directions); ++i) {
    const JsonNode pool = pools.element(i);
    plan.pools_bytes.push_back(pool.integer(1, most_bytes));
  }
  for (std::size_t i = 0; i < directions.array_size(most_directions); ++i) {
    const JsonNode node = directions.element(i);
    node.allow_only(
        {"name", "from", "to", "bits_per_s", "burst_bytes", "buffer_bytes", "mark_bytes", "latency_ns", "pool"});
    const JsonNode name = node.at("name"), from = node.at("from"), to = node.at("to");
    Direction one{name.text(), descriptor(from), descriptor(to), terms_of(node), std::nullopt};
    if (const auto pool = node.find("pool")) {
      if (plan.pools_bytes.empty()) pool->fail("there is no pool");
      one.pool = static_cast<std::size_t>(pool->integer(0, static_cast<std::int64_t>(plan.pools_bytes.size()) - 1));
    }
    plan.directions.push_back(std::move(one));
  }
  return plan;
}

}  // namespace antiphon::cables
