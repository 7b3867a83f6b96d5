// SPDX-License-Identifier: Apache-2.0
// Machines as plain JSON (docs/reference/mapping-files.md), for machines that were not measured with `antiphon probe`.
#include <map>

#include "antiphon/error.hpp"
#include "mapping/json.hpp"

namespace antiphon::mapping {

namespace {

constexpr std::size_t max_document_bytes = std::size_t{1} << 30;
constexpr std::int64_t max_nodes = std::int64_t{1} << 20;
constexpr std::int64_t max_cores = std::int64_t{1} << 24;
constexpr std::size_t max_matrix_rows = 16384;
constexpr double max_seconds = 1e6;
constexpr double max_rate = 1e18;

double number_or(const JsonNode& object, std::string_view key, double otherwise, double max) {
  const auto field = object.find(key);
  return field ? field->number(0, max) : otherwise;
}

std::string text_or(const JsonNode& object, std::string_view key, const std::string& otherwise) {
  const auto field = object.find(key);
  return field ? field->text() : otherwise;
}

/// A rate of 0, or none, has no limit.
double seconds_per_byte(double bytes_per_s) { return bytes_per_s > 0 ? 1 / bytes_per_s : 0; }

Distance read_distance(const JsonNode& object) {
  return {number_or(object, "latency_s", 0, max_seconds),
          seconds_per_byte(number_or(object, "bytes_per_s", 0, max_rate))};
}

/// Reads {"latency_s": [[…]], "bytes_per_s": [[…]]}: square; the diagonal does not count; null and 0 cost nothing.
std::vector<Distance> read_matrices(const JsonNode& object) {
  object.allow_only({"latency_s", "bytes_per_s"});
  const JsonNode latency = object.at("latency_s");
  const JsonNode rate = object.at("bytes_per_s");
  const std::size_t size = latency.array_size(max_matrix_rows);
  if (rate.array_size() != size) rate.fail("expected " + std::to_string(size) + " rows, as latency_s has");
  std::vector<Distance> out(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    const JsonNode latencies = latency.element(i);
    const JsonNode rates = rate.element(i);
    if (latencies.array_size() != size) latencies.fail("expected " + std::to_string(size) + " numbers");
    if (rates.array_size() != size) rates.fail("expected " + std::to_string(size) + " numbers");
    for (std::size_t j = 0; j < size; ++j) {
      if (i == j) continue;
      const JsonNode l = latencies.element(j);
      const JsonNode r = rates.element(j);
      out[i * size + j] = {l.is_null() ? 0 : l.number(0, max_seconds),
                           seconds_per_byte(r.is_null() ? 0 : r.number(0, max_rate))};
    }
  }
  return out;
}

std::vector<Level> read_levels(const JsonNode& list, int cores) {
  std::vector<Level> levels;
  const std::size_t count = list.array_size(64);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode level = list.element(i);
    level.allow_only({"width", "latency_s", "bytes_per_s", "name"});
    const auto width = static_cast<int>(level.integer_or("width", cores, 1, max_cores));
    levels.push_back({width, read_distance(level)});
  }
  return levels;
}

NodeKind read_kind(const JsonNode& object, const JsonNode& document) {
  NodeKind kind;
  kind.cores = static_cast<int>(
      object.integer_or("cores", document.integer_or("cores_per_node", 1, 1, max_cores), 1, max_cores));
  if (const auto matrices = object.find("between_cores")) kind.between = read_matrices(*matrices);
  if (const auto levels = object.find("levels")) {
    kind.levels = read_levels(*levels, kind.cores);
  } else if (const auto shared = document.find("levels")) {
    kind.levels = read_levels(*shared, kind.cores);
  }
  return kind;
}

class MachineReader {
 public:
  explicit MachineReader(const JsonNode& document) : document_(document) {}

  Machine read() {
    document_.allow_only({"format", "version", "name", "nodes", "cores_per_node", "levels", "switches", "latency_s",
                          "bytes_per_s", "torus", "between_nodes", "between_cores", "details"});
    machine_.name = text_or(document_, "name", "");
    if (const auto m = document_.find("between_nodes")) machine_.between_nodes = read_matrices(*m);
    if (const auto m = document_.find("between_cores")) machine_.between_cores = read_matrices(*m);
    read_switches();
    read_torus();
    read_nodes();
    machine_.check();
    return std::move(machine_);
  }

 private:
  void read_switches() {
    const auto list = document_.find("switches");
    if (!list) {
      const Distance d = read_distance(document_);
      machine_.switches.push_back({"switch", -1, 0, d, d});
      return;
    }
    const std::size_t count = list->array_size(max_nodes);
    for (std::size_t i = 0; i < count; ++i) {
      const JsonNode s = list->element(i);
      s.allow_only({"name", "parent", "uplink_bytes_per_s", "latency_s", "bytes_per_s", "across"});
      const std::string name = text_or(s, "name", "switch " + std::to_string(i));
      const auto parent = s.find("parent");
      const Distance within = read_distance(s);
      const auto across = s.find("across");
      machine_.switches.push_back({name, parent ? switch_named(*parent) : -1,
                                   number_or(s, "uplink_bytes_per_s", 0, max_rate), within,
                                   across ? read_distance(*across) : within});
      if (!switch_of_name_.emplace(name, static_cast<int>(i)).second)
        s.fail("there is another switch \"" + name + "\"");
    }
  }

  int switch_named(const JsonNode& node) const {
    const auto found = switch_of_name_.find(node.text());
    if (found == switch_of_name_.end()) node.fail("there is no switch \"" + node.text() + "\" before it");
    return found->second;
  }

  void read_torus() {
    const auto torus = document_.find("torus");
    if (!torus) return;
    torus->allow_only({"dims", "link_bytes_per_s"});
    machine_.torus.emplace();
    const JsonNode dims = torus->at("dims");
    const std::size_t count = dims.array_size(16);
    for (std::size_t i = 0; i < count; ++i)
      machine_.torus->dims.push_back(static_cast<int>(dims.element(i).integer(1, max_nodes)));
    machine_.torus->link_bytes_per_s = number_or(*torus, "link_bytes_per_s", 0, max_rate);
  }

  /// Reads a list, or a number of nodes that are all alike, or takes the number from the matrices.
  void read_nodes() {
    const auto nodes = document_.find("nodes");
    if (nodes && nodes->is_array()) {
      const std::size_t count = nodes->array_size(max_nodes);
      for (std::size_t i = 0; i < count; ++i) read_node(nodes->element(i));
      return;
    }
    machine_.kinds.push_back(alike());
    std::int64_t count = 1;
    if (nodes) {
      count = nodes->integer(1, max_nodes);
    } else if (!machine_.between_nodes.empty()) {
      count = rows(machine_.between_nodes);
    } else if (!machine_.between_cores.empty()) {
      count = rows(machine_.between_cores) / machine_.kinds[0].cores;
    } else {
      document_.fail("expected \"nodes\": a list, or how many there are");
    }
    add_cores(document_, count, machine_.kinds[0].cores);
    for (std::int64_t i = 0; i < count; ++i) machine_.nodes.push_back({"node" + std::to_string(i), 0, 0, 0});
  }

  NodeKind alike() {
    NodeKind kind;
    kind.cores = static_cast<int>(document_.integer_or("cores_per_node", 1, 1, max_cores));
    if (const auto levels = document_.find("levels")) kind.levels = read_levels(*levels, kind.cores);
    return kind;
  }

  static std::int64_t rows(const std::vector<Distance>& matrix) {
    std::int64_t n = 0;
    while (n * n < static_cast<std::int64_t>(matrix.size())) ++n;
    return n;
  }

  void read_node(const JsonNode& node) {
    node.allow_only({"name", "cores", "switch", "port_bytes_per_s", "count", "levels", "between_cores"});
    NodeKind kind = read_kind(node, document_);
    if (machine_.kinds.empty() || !same(machine_.kinds.back(), kind)) machine_.kinds.push_back(std::move(kind));
    const auto name = node.find("name");
    const std::int64_t count = node.integer_or("count", 1, 1, max_nodes);
    const auto on = node.find("switch");
    const int switch_index = on ? switch_named(*on) : 0;
    const double port = number_or(node, "port_bytes_per_s", 0, max_rate);
    add_cores(node, count, machine_.kinds.back().cores);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string number =
          std::to_string(name && count > 1 ? i : static_cast<std::int64_t>(machine_.nodes.size()));
      const std::string full = !name ? "node" + number : count > 1 ? name->text() + number : name->text();
      machine_.nodes.push_back({full, static_cast<int>(machine_.kinds.size()) - 1, switch_index, port});
    }
  }

  /// Checks the total number before memory is used for the cores.
  void add_cores(const JsonNode& node, std::int64_t count, int cores) {
    cores_ += count * cores;
    nodes_ += count;
    if (nodes_ > max_nodes) node.fail("more than " + std::to_string(max_nodes) + " nodes");
    if (cores_ > max_cores) node.fail("more than " + std::to_string(max_cores) + " cores");
  }

  static bool same(const NodeKind& a, const NodeKind& b) {
    return a.cores == b.cores && a.levels == b.levels && a.between == b.between;
  }

  const JsonNode& document_;
  Machine machine_;
  std::int64_t nodes_ = 0;
  std::int64_t cores_ = 0;
  std::map<std::string, int, std::less<>> switch_of_name_;
};

}  // namespace

Machine read_machine(const JsonNode& document) {
  try {
    return MachineReader(document).read();
  } catch (const InvalidArgument& e) {
    document.fail(e.what());
  }
}

bool is_profile(const Json& document) {
  const Json* format = document.find("format");
  return format != nullptr && *format == "antiphon-profile";
}

Machine Machine::parse(std::string_view json) {
  const Json document = JsonNode::parse(json, max_document_bytes);
  if (is_profile(document)) return of_profile(Profile::parse(json));
  return read_machine(JsonNode(document));
}

}  // namespace antiphon::mapping
