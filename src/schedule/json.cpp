// SPDX-License-Identifier: Apache-2.0
// Schedules and plans as JSON documents: docs/reference/plan-format.md.
#include "schedule/json.hpp"

#include <array>

#include "antiphon/error.hpp"
#include "json/node.hpp"

namespace antiphon {

namespace {

constexpr int version = 1;
constexpr std::size_t max_document_bytes = std::size_t{1} << 30;
/// The limit for sizes and offsets: far enough below 2^63 that no sum or product of the replay and the executor can
/// overflow.
constexpr std::int64_t max_bytes = std::int64_t{1} << 48;
constexpr std::int64_t max_pieces = std::int64_t{1} << 28;
constexpr std::int64_t max_ranks = 1 << 20;
constexpr std::size_t max_parameters = 64;
constexpr std::size_t max_groups = 4096;
/// The largest tag that every MPI must have.
constexpr std::int64_t max_tag = 32767;

// ------------------------------------------------------------------ writing

Json json_of(const Range& range) { return Json::array({name(range.space), range.offset_bytes, range.bytes}); }

Json json_of(const Dep& dep) {
  if (dep.lag == Dep::whole) return dep.op;
  return Json::array({dep.op, dep.lag});
}

Json json_of(const Schedule& schedule, const Op& op) {
  Json out{{"op", name(op.kind)}};
  if (op.kind == OpKind::send || op.kind == OpKind::recv) out["peer"] = op.peer;
  if (op.group >= 0) out["group"] = op.group;
  if (op.tag != 0) out["tag"] = op.tag;
  if (op.kind != OpKind::recv) out["from"] = json_of(op.from);
  if (op.kind != OpKind::send && op.kind != OpKind::multicast) out["to"] = json_of(op.to);
  if (op.encoded) out["encoded"] = true;
  if (op.cut != Cut{}) out["cut"] = Json::array({op.cut.piece_bytes, op.cut.window});
  const auto deps = schedule.deps(op);
  if (deps.empty()) return out;
  Json& after = out["after"] = Json::array();
  for (const Dep& dep : deps) after.push_back(json_of(dep));
  return out;
}

void put(Json& out, const Schedule& schedule) {
  out["scratch_bytes"] = schedule.scratch_bytes();
  if (!schedule.groups().empty()) out["groups"] = schedule.groups();
  Json& ops = out["ops"] = Json::array();
  for (const Op& op : schedule.ops()) ops.push_back(json_of(schedule, op));
}

// ------------------------------------------------------------------ reading

template <typename Enum, std::size_t N>
Enum read_enum(const JsonNode& node, const std::array<Enum, N>& values) {
  std::string known;
  for (const Enum value : values) {
    if (name(value) == node.text()) return value;
    known += (known.empty() ? "" : ", ") + std::string(name(value));
  }
  node.fail("expected one of " + known);
}

Range read_range(const JsonNode& node, std::int64_t scratch_bytes) {
  if (!node.is_array() || node.array_size() != 3) node.fail("expected [space, offset_bytes, bytes]");
  const Range range{read_enum(node.element(0), std::array{Space::input, Space::output, Space::scratch}),
                    node.element(1).integer(0, max_bytes), node.element(2).integer(0, max_bytes)};
  if (range.space == Space::scratch && range.offset_bytes + range.bytes > scratch_bytes)
    node.fail("is outside the scratch memory");
  return range;
}

Cut read_cut(const JsonNode& node) {
  if (!node.is_array() || node.array_size() != 2) node.fail("expected [piece_bytes, window]");
  return {node.element(0).integer(0, max_bytes), static_cast<std::int32_t>(node.element(1).integer(0, INT32_MAX))};
}

Dep read_dep(const JsonNode& node, std::size_t id) {
  if (id == 0) node.fail("the first operation can follow none");
  const auto last = static_cast<std::int64_t>(id) - 1;
  if (!node.is_array()) return {static_cast<OpId>(node.integer(0, last))};
  if (node.array_size() != 2) node.fail("expected an operation or [operation, lag]");
  // Dep::whole has a form of its own.
  const std::int64_t lag = node.element(1).integer(std::int64_t{Dep::whole} + 1, INT32_MAX);
  return {static_cast<OpId>(node.element(0).integer(0, last)), static_cast<std::int32_t>(lag)};
}

void read_op(const JsonNode& node, Schedule& schedule, std::int64_t ranks) {
  const JsonNode kind = node.at("op");
  Op op{.kind = read_enum(kind, std::array{OpKind::send, OpKind::recv, OpKind::copy, OpKind::reduce, OpKind::multicast,
                                           OpKind::encode, OpKind::decode})};
  switch (op.kind) {
    case OpKind::send: node.allow_only({"op", "peer", "tag", "from", "encoded", "cut", "after"}); break;
    case OpKind::recv: node.allow_only({"op", "peer", "group", "tag", "to", "encoded", "cut", "after"}); break;
    case OpKind::multicast: node.allow_only({"op", "group", "tag", "from", "encoded", "cut", "after"}); break;
    default: node.allow_only({"op", "from", "to", "cut", "after"}); break;
  }
  if (op.is_message()) {
    if (op.kind != OpKind::multicast) op.peer = static_cast<std::int32_t>(node.at("peer").integer(0, ranks - 1));
    op.tag = static_cast<std::int32_t>(node.integer_or("tag", 0, 0, max_tag));
    op.encoded = node.find("encoded") && node.at("encoded").boolean();
    const auto last_group = static_cast<std::int64_t>(schedule.groups().size()) - 1;
    if (op.kind == OpKind::multicast || node.find("group")) {
      op.group = static_cast<std::int32_t>(node.at("group").integer(0, last_group));
    }
  }
  const bool writes = op.kind != OpKind::send && op.kind != OpKind::multicast;
  if (op.kind != OpKind::recv) op.from = read_range(node.at("from"), schedule.scratch_bytes());
  if (writes) op.to = read_range(node.at("to"), schedule.scratch_bytes());
  if (const auto cut = node.find("cut")) op.cut = read_cut(*cut);
  if (op.pieces() > max_pieces) node.fail("is cut into more than " + std::to_string(max_pieces) + " pieces");
  std::vector<Dep> deps;
  if (const auto after = node.find("after")) {
    const std::size_t count = after->array_size();
    for (std::size_t i = 0; i < count; ++i) deps.push_back(read_dep(after->element(i), schedule.ops().size()));
  }
  try {
    schedule.add(op, deps);
  } catch (const InvalidArgument& error) {
    node.fail(error.what());
  }
}

void read_groups(const JsonNode& node, Schedule& schedule, std::int64_t ranks) {
  const std::size_t count = node.array_size(max_groups);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode group = node.element(i);
    std::vector<std::int32_t> members;
    const std::size_t size = group.array_size();
    for (std::size_t k = 0; k < size; ++k) {
      members.push_back(
          static_cast<std::int32_t>(group.element(k).integer(k == 0 ? 0 : members.back() + 1, ranks - 1)));
    }
    if (schedule.group(std::move(members)) != static_cast<int>(i)) group.fail("is there twice");
  }
}

Schedule read_schedule(const JsonNode& node, std::int64_t ranks) {
  Schedule schedule;
  schedule.set_scratch_bytes(node.at("scratch_bytes").integer(0, max_bytes));
  if (const auto groups = node.find("groups")) read_groups(*groups, schedule, ranks);
  const JsonNode ops = node.at("ops");
  const std::size_t count = ops.array_size(no_op - 1);
  for (std::size_t i = 0; i < count; ++i) read_op(ops.element(i), schedule, ranks);
  return schedule;
}

void check_version(const JsonNode& document) {
  const JsonNode field = document.at("version");
  if (field.integer() != version) field.fail("this Antiphon reads version " + std::to_string(version) + " of plans");
}

Parameters read_parameters(const JsonNode& node) {
  Parameters parameters;
  const std::size_t count = node.array_size(max_parameters);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode pair = node.element(i);
    if (pair.array_size() != 2) pair.fail("expected [name, value]");
    parameters.push_back({pair.element(0).text(), pair.element(1).integer()});
  }
  return parameters;
}

}  // namespace

Json json_of(const Plan& plan) {
  Json parameters = Json::array();
  for (const ParameterValue& p : plan.parameters) parameters.push_back(Json::array({p.name, p.value}));
  Json out{{"version", version},
           {"collective", name(plan.collective)},
           {"algorithm", plan.algorithm},
           {"parameters", parameters},
           {"size", plan.size},
           {"root", plan.root},
           {"bytes", plan.bytes},
           {"element_bytes", plan.element_bytes},
           {"commutative", plan.commutative},
           {"in_place", plan.in_place}};
  Json& schedules = out["schedules"] = Json::array();
  for (const Schedule& s : plan.schedules) {
    Json& one = schedules.push_back(Json::object());
    put(one, s);
  }
  return out;
}

Json json_of(const Schedule& schedule) {
  Json out{{"version", version}};
  put(out, schedule);
  return out;
}

std::string to_json(const Plan& plan) { return json_of(plan).dump(); }

std::string to_json(const Schedule& schedule) { return json_of(schedule).dump(); }

Schedule schedule_from_json(std::string_view text) {
  const auto value = JsonNode::parse(text, max_document_bytes);
  const JsonNode document(value);
  document.allow_only({"version", "scratch_bytes", "groups", "ops"});
  check_version(document);
  return read_schedule(document, max_ranks);
}

Plan plan_from_json(std::string_view text) {
  const auto value = JsonNode::parse(text, max_document_bytes);
  const JsonNode document(value);
  document.allow_only({"version", "collective", "algorithm", "parameters", "size", "root", "bytes", "element_bytes",
                       "commutative", "in_place", "schedules"});
  check_version(document);
  Plan plan;
  const JsonNode collective = document.at("collective");
  const auto found = collective_from_name(collective.text());
  if (!found) collective.fail("\"" + collective.text() + "\" is not a collective");
  plan.collective = *found;
  plan.algorithm = document.at("algorithm").text();
  plan.parameters = read_parameters(document.at("parameters"));
  plan.size = static_cast<int>(document.at("size").integer(1, max_ranks));
  plan.root = static_cast<int>(document.at("root").integer(0, plan.size - 1));
  plan.bytes = document.at("bytes").integer(0, max_bytes);
  plan.element_bytes = document.at("element_bytes").integer(1, max_bytes);
  plan.commutative = document.at("commutative").boolean();
  plan.in_place = document.at("in_place").boolean();
  const JsonNode schedules = document.at("schedules");
  const std::size_t count = schedules.array_size();
  if (count != static_cast<std::size_t>(plan.size)) schedules.fail("expected one a rank, " + std::to_string(plan.size));
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode one = schedules.element(i);
    one.allow_only({"scratch_bytes", "groups", "ops"});
    plan.schedules.push_back(read_schedule(one, plan.size));
  }
  return plan;
}

}  // namespace antiphon
