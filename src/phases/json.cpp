// SPDX-License-Identifier: Apache-2.0
// Patterns, phases and compiled plans as JSON documents: docs/reference/plan-format.md.
#include "phases/json.hpp"

#include "antiphon/error.hpp"

namespace antiphon {

namespace {

constexpr int version = 1;
constexpr std::size_t max_document_bytes = std::size_t{1} << 30;
constexpr std::int64_t max_bytes = std::int64_t{1} << 48;
constexpr std::int64_t max_total_bytes = std::int64_t{1} << 60;
constexpr std::int64_t max_pieces = std::int64_t{1} << 28;
constexpr std::int64_t max_ranks = 1 << 20;

void check_version(const JsonNode& document) {
  const JsonNode field = document.at("version");
  if (field.integer() != version)
    field.fail("this Antiphon reads version " + std::to_string(version) + " of patterns and plans");
}

Json versioned(const Json& value) {
  Json out{{"version", version}};
  out.update(value);
  return out;
}

int read_rank(const JsonNode& node, int size) { return static_cast<int>(node.integer(0, size - 1)); }

/// `total` bounds the sum of all parts, so that no sum of some can overflow.
PhaseOfParts read_phase(const JsonNode& node, int size, std::int64_t& total) {
  node.allow_only({"together", "parts"});
  PhaseOfParts phase;
  phase.together = node.boolean_or("together", false);
  const JsonNode parts = node.at("parts");
  const std::size_t count = parts.array_size();
  phase.parts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode part = parts.element(i);
    if (part.array_size() != 4) part.fail("expected [from, to, offset_bytes, bytes]");
    phase.parts.push_back({read_rank(part.element(0), size), read_rank(part.element(1), size),
                           part.element(2).integer(0, max_bytes), part.element(3).integer(1, max_bytes)});
    total += phase.parts.back().bytes;
    if (total > max_total_bytes) part.fail("there are more than " + std::to_string(max_total_bytes) + " bytes in all");
  }
  return phase;
}

/// Reads what must hold before phases can be executed: each message whole, and one part a rank and phase.
Phases read_phases(const JsonNode& node) {
  Phases result;
  result.size = static_cast<int>(node.at("size").integer(1, max_ranks));
  result.scheduler = node.at("scheduler").text();
  const JsonNode phases = node.at("phases");
  const std::size_t count = phases.array_size();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) result.phases.push_back(read_phase(phases.element(i), result.size, total));
  Pattern pattern;
  try {
    pattern = result.pattern();
    pattern = Pattern::of_messages(result.size, std::move(pattern.messages));
  } catch (const InvalidArgument& error) {
    phases.fail(error.what());
  }
  if (const auto wrong = check_phases(result, pattern, {})) phases.fail(*wrong);
  return result;
}

void check_pieces(const CompiledPattern& compiled, const JsonNode& cut) {
  for (const PhaseOfParts& phase : compiled.phases.phases) {
    for (const Part& part : phase.parts) {
      if (compiled.cut.piece_bytes > 0 && part.bytes / compiled.cut.piece_bytes > max_pieces)
        cut.fail("makes too many pieces");
    }
  }
}

CompiledPattern read_compiled(const JsonNode& node) {
  node.allow_only(
      {"collective", "calls", "expected_ns", "saves_ns", "synchronisation", "cut", "size", "scheduler", "phases"});
  const JsonNode collective = node.at("collective");
  if (collective.text() != name(Collective::alltoallv)) collective.fail("only alltoallv has phases");
  CompiledPattern compiled;
  const JsonNode synchronisation = node.at("synchronisation");
  const auto known = synchronisation_from_name(synchronisation.text());
  if (!known) synchronisation.fail("expected none, tokens, grants, barrier or lockstep");
  compiled.synchronisation = *known;
  const JsonNode cut = node.at("cut");
  if (cut.array_size() != 2) cut.fail("expected [piece_bytes, window]");
  compiled.cut = {cut.element(0).integer(0, max_bytes), static_cast<std::int32_t>(cut.element(1).integer(1, 64))};
  compiled.calls = node.integer_or("calls", 0, 0, INT64_MAX);
  compiled.expected_ns = node.integer_or("expected_ns", 0, 0, INT64_MAX);
  compiled.saves_ns = node.integer_or("saves_ns", 0, 0, max_bytes);
  compiled.phases = read_phases(node);
  check_pieces(compiled, cut);
  return compiled;
}

}  // namespace

Json json_of(const Pattern& pattern) {
  Json messages = Json::array();
  for (const PatternMessage& m : pattern.messages) messages.push_back(Json::array({m.from, m.to, m.bytes}));
  return {{"size", pattern.size}, {"messages", std::move(messages)}};
}

Json json_of(const Phases& phases) {
  Json list = Json::array();
  for (const PhaseOfParts& phase : phases.phases) {
    Json one = Json::object();
    if (phase.together) one["together"] = true;
    Json& parts = one["parts"] = Json::array();
    for (const Part& part : phase.parts)
      parts.push_back(Json::array({part.from, part.to, part.offset_bytes, part.bytes}));
    list.push_back(std::move(one));
  }
  return {{"size", phases.size}, {"scheduler", phases.scheduler}, {"phases", std::move(list)}};
}

Json json_of(const CompiledPattern& compiled) {
  Json out{{"collective", name(Collective::alltoallv)},
           {"calls", compiled.calls},
           {"expected_ns", compiled.expected_ns},
           {"saves_ns", compiled.saves_ns},
           {"synchronisation", name(compiled.synchronisation)},
           {"cut", Json::array({compiled.cut.piece_bytes, compiled.cut.window})}};
  out.update(json_of(compiled.phases));
  return out;
}

Pattern read_pattern(const JsonNode& node) {
  const auto size = static_cast<int>(node.at("size").integer(1, max_ranks));
  const JsonNode list = node.at("messages");
  const std::size_t count = list.array_size();
  std::vector<PatternMessage> messages;
  messages.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode m = list.element(i);
    if (m.array_size() != 3) m.fail("expected [from, to, bytes]");
    messages.push_back(
        {read_rank(m.element(0), size), read_rank(m.element(1), size), m.element(2).integer(0, max_bytes)});
  }
  try {
    return Pattern::of_messages(size, std::move(messages));
  } catch (const InvalidArgument& error) {
    list.fail(error.what());
  }
}

Fabric read_fabric(const JsonNode& node) {
  node.allow_only({"link_bytes_per_s", "latency_ns", "barrier_ns", "port_buffer_bytes", "node_of_rank",
                   "switch_of_node", "uplink_bytes_per_s"});
  Fabric fabric;
  const auto rate = [&](std::string_view key, double otherwise, std::int64_t min) {
    return static_cast<double>(node.integer_or(key, static_cast<std::int64_t>(otherwise), min, max_bytes));
  };
  const auto places = [&](std::string_view key) {
    std::vector<int> list;
    const auto field = node.find(key);
    const std::size_t count = field ? field->array_size(max_ranks) : 0;
    for (std::size_t i = 0; i < count; ++i) list.push_back(static_cast<int>(field->element(i).integer(0, max_ranks)));
    return list;
  };
  fabric.link_bytes_per_s = rate("link_bytes_per_s", fabric.link_bytes_per_s, 1);
  fabric.uplink_bytes_per_s = rate("uplink_bytes_per_s", 0, 0);
  fabric.latency_ns = node.integer_or("latency_ns", fabric.latency_ns, 0, max_bytes);
  fabric.barrier_ns = node.integer_or("barrier_ns", 0, 0, max_bytes);
  fabric.port_buffer_bytes = node.integer_or("port_buffer_bytes", fabric.port_buffer_bytes, 0, max_bytes);
  fabric.node_of_rank = places("node_of_rank");
  fabric.switch_of_node = places("switch_of_node");
  return fabric;
}

Fabric fabric_from_json(std::string_view text) {
  const auto value = JsonNode::parse(text, max_document_bytes);
  return read_fabric(JsonNode(value));
}

std::vector<CompiledPattern> read_compiled_patterns(const JsonNode& list) {
  std::vector<CompiledPattern> patterns;
  const std::size_t count = list.array_size();
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode one = list.element(i);
    patterns.push_back(read_compiled(one));
  }
  return patterns;
}

CompiledPlan read_compiled_plan(const JsonNode& document) {
  document.allow_only({"version", "patterns"});
  check_version(document);
  const JsonNode patterns = document.at("patterns");
  return {read_compiled_patterns(patterns)};
}

std::string to_json(const Pattern& pattern) { return versioned(json_of(pattern)).dump(); }
std::string to_json(const Phases& phases) { return versioned(json_of(phases)).dump(); }

std::string to_json(const CompiledPlan& plan) {
  Json out{{"version", version}, {"patterns", Json::array()}};
  for (const CompiledPattern& compiled : plan.patterns) out["patterns"].push_back(json_of(compiled));
  return out.dump();
}

Pattern pattern_from_json(std::string_view text) {
  const auto value = JsonNode::parse(text, max_document_bytes);
  const JsonNode document(value);
  document.allow_only({"version", "size", "messages"});
  check_version(document);
  return read_pattern(document);
}

Phases phases_from_json(std::string_view text) {
  const auto value = JsonNode::parse(text, max_document_bytes);
  const JsonNode document(value);
  document.allow_only({"version", "size", "scheduler", "phases"});
  check_version(document);
  return read_phases(document);
}

CompiledPlan compiled_plan_from_json(std::string_view text) {
  const auto value = JsonNode::parse(text, max_document_bytes);
  return read_compiled_plan(JsonNode(value));
}

}  // namespace antiphon
