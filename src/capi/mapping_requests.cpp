// SPDX-License-Identifier: Apache-2.0
#include "capi/mapping_requests.hpp"

#include <chrono>

#include "antiphon/error.hpp"
#include "antiphon/mapping.hpp"
#include "mapping/json.hpp"
#include "mapping/search/thread_time.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon {

namespace {

using mapping::Assignment;
using mapping::Task;

constexpr std::int64_t max_ranks = std::int64_t{1} << 24;

mapping::TrafficGraph traffic_of(const JsonNode& request) {
  if (const auto file = request.find("traffic_file")) return mapping::TrafficGraph::read(file->text());
  return mapping::read_traffic(request.at("traffic"));
}

/// A profile's costs are linear around the average message size of the traffic.
double mean_bytes(const mapping::TrafficGraph& traffic) {
  const double messages = traffic.total_messages();
  return messages > 0 ? traffic.total_bytes() / messages : 0;
}

mapping::Machine machine_of(const std::string& text, const JsonNode& request, double message_bytes) {
  const Json document = JsonNode::parse(text, SIZE_MAX);
  if (!mapping::is_profile(document)) return mapping::read_machine(JsonNode(document));
  const auto cores = static_cast<int>(request.integer_or("cores_per_node", 0, 0, max_ranks));
  return mapping::Machine::of_profile(Profile::parse(text), cores, std::max(1.0, message_bytes));
}

mapping::Machine machine_of(const JsonNode& request, double message_bytes) {
  if (const auto file = request.find("machine_file")) {
    try {
      return machine_of(mapping::read_file(file->text()), request, message_bytes);
    } catch (const FormatError& e) {
      throw FormatError(file->text() + ": " + e.what());
    }
  }
  const JsonNode machine = request.at("machine");
  if (!machine.is_object()) return machine_of(machine.text(), request, message_bytes);
  return mapping::read_machine(machine);
}

int node_named(const JsonNode& field, const mapping::Machine& machine) {
  if (field.is_number()) return static_cast<int>(field.integer(0, machine.node_count() - 1));
  for (int n = 0; n < machine.node_count(); ++n) {
    if (machine.nodes[static_cast<std::size_t>(n)].name == field.text()) return n;
  }
  field.fail("there is no node \"" + field.text() + "\"");
}

mapping::Constraints constraints_of(const JsonNode& request, const mapping::Machine& machine) {
  mapping::Constraints c;
  c.ranks_per_core = static_cast<int>(request.integer_or("ranks_per_core", 1, 1, 1024));
  c.max_ranks_per_node = static_cast<int>(request.integer_or("max_ranks_per_node", 0, 0, max_ranks));
  const auto pins = request.find("pins");
  if (!pins) return c;
  const std::size_t count = pins->array_size(static_cast<std::size_t>(max_ranks));
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode pin = pins->element(i);
    pin.allow_only({"rank", "node", "core"});
    const JsonNode node = pin.at("node");
    c.pins.push_back({static_cast<int>(pin.at("rank").integer(0, max_ranks)), node_named(node, machine),
                      static_cast<int>(pin.integer_or("core", -1, -1, max_ranks))});
  }
  return c;
}

mapping::Objective objective_of(const JsonNode& request) {
  const auto field = request.find("objective");
  if (!field) return mapping::Objective::automatic;
  for (const auto o : {mapping::Objective::automatic, mapping::Objective::messages, mapping::Objective::time}) {
    if (mapping::name(o) == field->text()) return o;
  }
  field->fail("expected \"automatic\", \"messages\" or \"time\"");
}

Task task_of(const JsonNode& request) {
  mapping::TrafficGraph traffic = traffic_of(request);
  mapping::Machine machine = machine_of(request, mean_bytes(traffic));
  mapping::Constraints constraints = constraints_of(request, machine);
  return Task(std::move(traffic), std::move(machine), std::move(constraints), objective_of(request));
}

std::vector<int> integers(const JsonNode& list, std::int64_t max) {
  const std::size_t count = list.array_size(static_cast<std::size_t>(max_ranks));
  std::vector<int> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<int>(list.element(i).integer(0, max)));
  return out;
}

std::vector<int> nodes_of(const JsonNode& list, const mapping::Machine& machine) {
  const std::size_t count = list.array_size(static_cast<std::size_t>(max_ranks));
  std::vector<int> out;
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode one = list.element(i);
    out.push_back(node_named(one, machine));
  }
  return out;
}

Json json_of(const mapping::Costs& c) {
  return {{"messages_s", c.messages_s},
          {"congestion_s", c.congestion_s},
          {"rank_latency_s", c.rank_latency_s},
          {"rank_volume_s", c.rank_volume_s},
          {"predicted_s", c.predicted_s},
          {"hop_bytes", c.hop_bytes},
          {"between_nodes_bytes", c.between_nodes_bytes},
          {"busiest_link", c.busiest_link}};
}

Json json_of(const Task& task, const Assignment& assignment) {
  Json nodes = Json::array();
  Json cores = Json::array();
  for (const int slot : assignment.slot_of_rank) {
    nodes.push_back(task.slots().node[static_cast<std::size_t>(slot)]);
    cores.push_back(task.slots().core[static_cast<std::size_t>(slot)]);
  }
  return {{"slot_of_rank", assignment.slot_of_rank}, {"node_of_rank", nodes}, {"core_of_rank", cores}};
}

Json json_of(const std::vector<mapping::LinkLoad>& loads) {
  Json list = Json::array();
  for (const mapping::LinkLoad& l : loads)
    list.push_back({{"name", l.name}, {"bytes", l.bytes}, {"bytes_per_s", l.bytes_per_s}, {"seconds", l.seconds()}});
  return list;
}

const mapping::Method& method_of(const JsonNode& request) {
  const auto field = request.find("method");
  const std::string wanted = field ? field->text() : "antiphon";
  const mapping::Method* method = mapping::find_method(wanted);
  if (method == nullptr && field) field->fail("there is no mapping method \"" + wanted + "\"");
  if (method == nullptr) throw InvalidArgument("there is no mapping method \"" + wanted + "\"");
  const std::string why = method->unavailable == nullptr ? "" : method->unavailable();
  if (!why.empty()) throw InvalidArgument("the method \"" + wanted + "\" cannot be used: " + why);
  return *method;
}

Json node_names(const mapping::Machine& machine) {
  Json names = Json::array();
  for (const mapping::Node& n : machine.nodes) names.push_back(n.name);
  return names;
}

}  // namespace

Json describe_machine_request(const JsonNode& request) {
  const auto bytes = request.find("message_bytes");
  return {{"machine", mapping::json_of(machine_of(request, bytes ? bytes->number(0, 1e15) : 65536))}};
}

Json list_mapping_methods(const JsonNode&) {
  Json list = Json::array();
  for (const mapping::Method* m : mapping::methods()) {
    list.push_back({{"name", m->name},
                    {"summary", m->summary},
                    {"unavailable", m->unavailable == nullptr ? "" : m->unavailable()}});
  }
  return {{"methods", list}};
}

Json map_request(const JsonNode& request) {
  const mapping::Method& method = method_of(request);
  const Task task = task_of(request);
  mapping::Budget budget;
  if (const auto seconds = request.find("seconds")) budget.seconds = seconds->number(0, 1e6);
  budget.seed = static_cast<std::uint64_t>(request.integer_or("seed", 1, 0, INT64_MAX));
  // The method may see less than its result is judged by: MPIPP knows only point-to-point messages.
  const auto seen = request.find("seen_traffic_file");
  const double cpu = mapping::thread_seconds();
  const auto start = std::chrono::steady_clock::now();
  const Assignment chosen = seen ? method.place(Task(mapping::TrafficGraph::read(seen->text()), task.machine(),
                                                     task.constraints(), task.objective()),
                                                budget)
                                 : method.place(task, budget);
  const double cpu_seconds = mapping::thread_seconds() - cpu;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (const auto wrong = task.check(chosen))
    throw Error("the method \"" + std::string(method.name) + "\" failed: " + *wrong);
  Json costs{{"chosen", json_of(mapping::score(task, chosen))},
             {"block", json_of(mapping::score(task, mapping::block_assignment(task)))},
             {"cyclic", json_of(mapping::score(task, mapping::cyclic_assignment(task)))}};
  if (const auto current = request.find("current")) {
    costs["current"] =
        json_of(mapping::score(task, mapping::assignment_of_nodes(task, nodes_of(*current, task.machine()))));
  }
  Json out{{"method", method.name}, {"objective", mapping::name(task.objective())},
           {"seconds", seconds},    {"cpu_seconds", cpu_seconds},
           {"costs", costs},        {"nodes", node_names(task.machine())}};
  out.update(json_of(task, chosen));
  return out;
}

Json score_mapping_request(const JsonNode& request) {
  const Task task = task_of(request);
  Assignment assignment;
  if (const auto slots = request.find("slot_of_rank")) {
    assignment.slot_of_rank = integers(*slots, task.slots().count() - 1);
    if (const auto wrong = task.check(assignment)) slots->fail(*wrong);
  } else {
    assignment = mapping::assignment_of_nodes(task, nodes_of(request.at("node_of_rank"), task.machine()));
  }
  Json out{{"objective", mapping::name(task.objective())},
           {"costs", json_of(mapping::score(task, assignment))},
           {"nodes", node_names(task.machine())}};
  if (request.boolean_or("links", true)) out["links"] = json_of(mapping::link_loads(task, assignment));
  return out;
}

}  // namespace antiphon
