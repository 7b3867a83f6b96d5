// SPDX-License-Identifier: Apache-2.0
// Hands the messages of a collective to Python as arrays, because there may be millions: too many for JSON.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "antiphon/error.hpp"
#include "antiphon/select.hpp"
#include "antiphon/sparse_traffic.hpp"
#include "capi/cases.hpp"

#define ANTIPHON_EXPORT extern "C" __attribute__((visibility("default")))

using namespace antiphon;

struct antiphon_traffic {
  SparseTraffic traffic;
  std::string error;
};

namespace {

constexpr std::size_t max_request_bytes = std::size_t{64} << 20;
constexpr std::int64_t max_ranks = 1 << 20;
constexpr std::int64_t max_bytes = std::int64_t{1} << 50;

TrafficCall read_call(const JsonNode& request) {
  TrafficCall call;
  call.collective = read_collective(request);
  call.size = static_cast<int>(request.at("size").integer(1, max_ranks));
  call.root = static_cast<int>(request.integer_or("root", 0, 0, call.size - 1));
  call.bytes = request.integer_or("bytes", 0, 0, max_bytes);
  call.element_bytes = request.integer_or("element_bytes", 1, 1, 65536);
  call.commutative = request.boolean_or("commutative", true);
  call.exact_ranks = static_cast<int>(request.integer_or("exact_ranks", call.exact_ranks, 0, max_ranks));
  if (const auto nodes = request.find("node_of_rank")) {
    const std::size_t n = nodes->array_size(static_cast<std::size_t>(max_ranks));
    for (std::size_t i = 0; i < n; ++i)
      call.node_of_rank.push_back(static_cast<int>(nodes->element(i).integer(0, max_ranks)));
  }
  if (const auto counts = request.find("counts")) {
    const std::size_t n = counts->array_size(static_cast<std::size_t>(max_ranks));
    for (std::size_t i = 0; i < n; ++i) {
      const JsonNode count = counts->element(i);
      call.counts.push_back(count.integer(0, max_bytes));
    }
  }
  return call;
}

SparseTraffic answer_to(const char* request_json) {
  const Json document = JsonNode::parse(request_json, max_request_bytes);
  const JsonNode request(document);
  const TrafficCall call = read_call(request);
  const Choice choice = parse_choice(call.collective, request.at("algorithm").text());
  if (choice.algorithm == nullptr)
    throw InvalidArgument("the library's own collective is not a schedule of Antiphon's");
  return sparse_traffic(*choice.algorithm, call, choice.parameters);
}

}  // namespace

/// Answers {"collective": …, "algorithm": …, "size": …, …} (python/antiphon/traffic/core.py). Returns nullptr where
/// memory is exhausted.
ANTIPHON_EXPORT antiphon_traffic* antiphon_traffic_new(const char* request_json) noexcept {
  try {
    auto result = std::make_unique<antiphon_traffic>();
    try {
      result->traffic = answer_to(request_json == nullptr ? "" : request_json);
    } catch (const Error& error) {
      result->error = error.what();
    }
    return result.release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

/// Returns what is wrong with the request, or nullptr if nothing is.
ANTIPHON_EXPORT const char* antiphon_traffic_error(const antiphon_traffic* t) noexcept {
  return t->error.empty() ? nullptr : t->error.c_str();
}
ANTIPHON_EXPORT std::int64_t antiphon_traffic_count(const antiphon_traffic* t) noexcept {
  return static_cast<std::int64_t>(t->traffic.source.size());
}
ANTIPHON_EXPORT std::int32_t antiphon_traffic_approximate(const antiphon_traffic* t) noexcept {
  return t->traffic.approximate ? 1 : 0;
}
/// Fills the arrays. Each array has antiphon_traffic_count() places.
ANTIPHON_EXPORT void antiphon_traffic_copy(const antiphon_traffic* t, std::int32_t* source, std::int32_t* target,
                                           std::int64_t* messages, std::int64_t* bytes) noexcept {
  std::copy(t->traffic.source.begin(), t->traffic.source.end(), source);
  std::copy(t->traffic.target.begin(), t->traffic.target.end(), target);
  std::copy(t->traffic.messages.begin(), t->traffic.messages.end(), messages);
  std::copy(t->traffic.bytes.begin(), t->traffic.bytes.end(), bytes);
}
ANTIPHON_EXPORT void antiphon_traffic_free(antiphon_traffic* t) noexcept { delete t; }
