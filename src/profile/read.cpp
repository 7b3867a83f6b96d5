// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "antiphon/error.hpp"
#include "antiphon/profile.hpp"
#include "json/node.hpp"

namespace antiphon {

namespace {

constexpr std::size_t max_document_bytes = std::size_t{64} << 20;
constexpr std::size_t max_nodes = 1 << 17;
constexpr std::size_t max_points = 4096;
constexpr double max_seconds = 1e6;
constexpr double max_rate = 1e15;

double number_or(const JsonNode& node, std::string_view key, double otherwise, double min, double max) {
  const auto field = node.find(key);
  return field ? field->number(min, max) : otherwise;
}

std::string text_or_empty(const JsonNode& node, std::string_view key) {
  const auto field = node.find(key);
  return field ? field->text() : std::string();
}

Curve::Point read_point(const JsonNode& node) {
  if (!node.is_array() || node.array_size() != 2) node.fail("expected [bytes, seconds]");
  return {node.element(0).integer(0, INT64_C(1) << 50), node.element(1).number(0, max_seconds)};
}

Curve read_curve(const JsonNode& node) {
  const std::size_t count = node.array_size(max_points);
  if (count == 0) node.fail("expected at least one [bytes, seconds]");
  std::vector<Curve::Point> points;
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode element = node.element(i);
    const Curve::Point point = read_point(element);
    if (i > 0 && point.bytes < points.back().bytes) element.fail("sizes must not decrease");
    if (i > 1 && point.bytes == points[i - 2].bytes) element.fail("a size may occur twice at most (a jump)");
    points.push_back(point);
  }
  return Curve(std::move(points));
}

Scope read_scope(const JsonNode& node) {
  for (const Scope scope : {Scope::core, Scope::socket, Scope::node, Scope::same_switch, Scope::uplink}) {
    if (node.text() == name(scope)) return scope;
  }
  node.fail("expected \"core\", \"socket\", \"node\", \"switch\" or \"uplink\"");
}

LinkClass::SharedMemory read_shared_memory(const JsonNode& node) {
  node.allow_only({"latency_s", "g_s", "fetched_from_bytes", "details"});
  const JsonNode gap = node.at("g_s");
  constexpr std::int64_t most_bytes = INT64_MAX;
  return {node.at("latency_s").number(0, max_seconds), read_curve(gap),
          node.integer_or("fetched_from_bytes", 0, 0, most_bytes)};
}

LinkClass read_link_class(const JsonNode& node) {
  node.allow_only({"name", "scope", "latency_s", "os_s", "or_s", "g_s", "crowded_s", "saturated_s", "told_next_turn",
                   "eager_bytes", "send_buffer_bytes", "connection_bytes_per_s", "connection_way_bytes_per_s",
                   "shared_memory", "details"});
  LinkClass link;
  link.name = node.at("name").text();
  const JsonNode scope = node.at("scope");
  link.scope = read_scope(scope);
  link.latency_s = node.at("latency_s").number(0, max_seconds);
  const JsonNode os = node.at("os_s");
  const JsonNode receive = node.at("or_s");
  const JsonNode gap = node.at("g_s");
  link.send_overhead = read_curve(os);
  link.receive_overhead = read_curve(receive);
  link.gap = read_curve(gap);
  if (const auto crowded = node.find("crowded_s")) link.crowded = read_curve(*crowded);
  if (const auto saturated = node.find("saturated_s")) link.saturated = read_curve(*saturated);
  if (const auto told = node.find("told_next_turn")) link.told_next_turn = told->boolean();
  link.eager_bytes = node.integer_or("eager_bytes", INT64_MAX, 0, INT64_MAX);
  link.send_buffer_bytes = node.integer_or("send_buffer_bytes", link.send_buffer_bytes, 0, INT64_MAX);
  link.connection_bytes_per_s = number_or(node, "connection_bytes_per_s", 0, 0, max_rate);
  link.connection_way_bytes_per_s = number_or(node, "connection_way_bytes_per_s", 0, 0, max_rate);
  if (const auto shared = node.find("shared_memory")) link.shared_memory = read_shared_memory(*shared);
  return link;
}

void read_link_classes(const JsonNode& node, Profile& profile) {
  const std::size_t count = node.array_size(64);
  if (count == 0) node.fail("expected at least one class of links");
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode element = node.element(i);
    profile.link_classes.push_back(read_link_class(element));
    for (std::size_t k = 0; k < i; ++k) {
      if (profile.link_classes[k].scope == profile.link_classes[i].scope) {
        element.fail("a second class of scope \"" + std::string(name(profile.link_classes[i].scope)) + "\"");
      }
    }
  }
  std::stable_sort(profile.link_classes.begin(), profile.link_classes.end(),
                   [](const LinkClass& a, const LinkClass& b) { return a.scope < b.scope; });
}

using SwitchNames = std::map<std::string, int, std::less<>>;

int switch_named(const JsonNode& node, const SwitchNames& names) {
  const auto found = names.find(node.text());
  if (found == names.end()) node.fail("there is no switch \"" + node.text() + "\"");
  return found->second;
}

void read_switches(const JsonNode& node, Topology& topology, SwitchNames& names) {
  const std::size_t count = node.array_size(max_nodes);
  if (count == 0) node.fail("expected at least one switch");
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode element = node.element(i);
    element.allow_only({"name", "parent", "uplink_bytes_per_s", "uplink_buffer_bytes", "details"});
    SwitchEntry entry;
    entry.name = element.at("name").text();
    if (const auto parent = element.find("parent")) {
      entry.parent = switch_named(*parent, names);  // among the switches before this one, hence no circles
      entry.uplink_bytes_per_s = element.at("uplink_bytes_per_s").number(1, max_rate);
      entry.uplink_buffer_bytes = element.integer_or("uplink_buffer_bytes", 0, 0, INT64_MAX);
    }
    if (!names.emplace(entry.name, static_cast<int>(i)).second) element.fail("a second switch \"" + entry.name + "\"");
    topology.switches.push_back(std::move(entry));
  }
}

void read_nodes(const JsonNode& node, Topology& topology, const SwitchNames& names) {
  const std::size_t count = node.array_size(max_nodes);
  if (count == 0) node.fail("expected at least one node");
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode element = node.element(i);
    element.allow_only({"name", "switch", "port_bytes_per_s", "burst_bytes", "count", "details"});
    NodeEntry entry;
    entry.name = text_or_empty(element, "name");
    const JsonNode of = element.at("switch");
    entry.switch_index = switch_named(of, names);
    entry.port_bytes_per_s = element.at("port_bytes_per_s").number(1, max_rate);
    entry.burst_bytes = number_or(element, "burst_bytes", 0, 0, max_rate);
    const std::int64_t alike = element.integer_or("count", 1, 1, static_cast<std::int64_t>(max_nodes));
    if (topology.nodes.size() + static_cast<std::size_t>(alike) > max_nodes) element.fail("too many nodes");
    const std::string shared = entry.name;
    for (std::int64_t number = 0; number < alike; ++number) {
      if (alike > 1 && !shared.empty()) entry.name = shared + std::to_string(number);
      topology.nodes.push_back(entry);
    }
  }
}

void check_matrix(const JsonNode& node, std::size_t nodes) {
  if (node.array_size() != nodes) node.fail("expected a row for each of the " + std::to_string(nodes) + " nodes");
  for (std::size_t i = 0; i < nodes; ++i) {
    const JsonNode row = node.element(i);
    if (row.array_size() != nodes) row.fail("expected " + std::to_string(nodes) + " numbers");
    for (std::size_t k = 0; k < nodes; ++k) {
      const JsonNode value = row.element(k);
      if (!value.is_null()) (void)value.number(0, max_rate);
    }
  }
}

void read_topology(const JsonNode& node, Topology& topology) {
  node.allow_only({"switches", "nodes", "confidence", "evidence", "pairs", "details"});
  (void)number_or(node, "confidence", 0, 0, 1);
  (void)text_or_empty(node, "evidence");
  SwitchNames names;
  const JsonNode switches = node.at("switches");
  const JsonNode nodes = node.at("nodes");
  read_switches(switches, topology, names);
  read_nodes(nodes, topology, names);
  if (const auto pairs = node.find("pairs")) {
    pairs->allow_only({"latency_s", "bytes_per_s"});
    for (const char* key : {"latency_s", "bytes_per_s"}) {
      if (const auto matrix = pairs->find(key)) check_matrix(*matrix, topology.nodes.size());
    }
  }
}

std::vector<Contention::Incast> read_incast(const JsonNode& incast) {
  std::vector<Contention::Incast> entries;
  const std::size_t count = incast.array_size(max_points);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode element = incast.element(i);
    // A loss causes a timeout or none, by chance, so it says nothing about missing capacity of the port.
    if (element.integer_or("lost", 0, 0, INT64_MAX) > 0) continue;
    entries.push_back({static_cast<int>(element.at("senders").integer(1, max_nodes)),
                       element.at("bytes").integer(0, INT64_MAX), element.at("ratio").number(0, 1e6)});
  }
  return entries;
}

Contention read_contention(const JsonNode& node) {
  node.allow_only({"gamma", "credit_bytes", "port_buffer_bytes", "retransmission_timeout_s", "incast", "details"});
  Contention contention;
  contention.credit_bytes = node.integer_or("credit_bytes", 0, 0, INT64_MAX);
  contention.port_buffer_bytes = node.integer_or("port_buffer_bytes", 0, 0, INT64_MAX);
  contention.retransmission_timeout_s = number_or(node, "retransmission_timeout_s", 0, 0, max_seconds);
  if (const auto incast = node.find("incast")) contention.incast = read_incast(*incast);
  const auto gamma = node.find("gamma");
  const std::size_t count = gamma ? gamma->array_size(max_points) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode element = gamma->element(i);
    element.allow_only({"ranks", "gamma", "details"});
    const Contention::Gamma entry{static_cast<int>(element.at("ranks").integer(2, 1 << 20)),
                                  element.at("gamma").number(-1e3, 1e3)};
    if (i > 0 && entry.ranks <= contention.gamma.back().ranks) element.fail("numbers of ranks must increase");
    contention.gamma.push_back(entry);
  }
  return contention;
}

std::vector<Processors::Turn> read_turns(const JsonNode& node) {
  std::vector<Processors::Turn> turns;
  const std::size_t count = node.array_size(max_points);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode point = node.element(i);
    if (!point.is_array() || point.array_size() != 2) point.fail("expected [ranks on a core, seconds]");
    turns.push_back({point.element(0).number(0, 1e6), point.element(1).number(0, 1)});
    if (i > 0 && turns[i].ranks_on_core <= turns[i - 1].ranks_on_core) point.fail("numbers of ranks must increase");
  }
  return turns;
}

Processors read_processors(const JsonNode& node) {
  node.allow_only({"cores_per_node", "physical_cores", "sockets_per_node", "nodes_sharing", "turn_s", "turns_s",
                   "copy_bytes_per_s", "reduce_bytes_per_s", "rank_bytes_per_s", "details"});
  Processors processors;
  processors.cores_per_node = static_cast<int>(node.integer_or("cores_per_node", 0, 0, 1 << 16));
  processors.physical_cores = static_cast<int>(node.integer_or("physical_cores", 0, 0, 1 << 16));
  processors.sockets_per_node = static_cast<int>(node.integer_or("sockets_per_node", 0, 0, 1 << 16));
  processors.nodes_sharing = static_cast<int>(node.integer_or("nodes_sharing", 1, 1, max_nodes));
  processors.turn_s = number_or(node, "turn_s", 0, 0, 1);
  if (const auto turns = node.find("turns_s")) processors.turns = read_turns(*turns);
  processors.copy_bytes_per_s = number_or(node, "copy_bytes_per_s", processors.copy_bytes_per_s, 1, max_rate);
  processors.reduce_bytes_per_s = number_or(node, "reduce_bytes_per_s", processors.reduce_bytes_per_s, 1, max_rate);
  processors.rank_bytes_per_s = number_or(node, "rank_bytes_per_s", 0, 0, max_rate);
  return processors;
}

MulticastLink read_multicast(const JsonNode& node) {
  node.allow_only({"works", "why_not", "latency_s", "g_s", "acknowledge_s", "loss", "bytes_per_s", "crowded_s", "nodes",
                   "details"});
  MulticastLink link;
  link.works = node.at("works").boolean();
  if (!link.works) return link;
  link.latency_s = node.at("latency_s").number(0, max_seconds);
  const JsonNode gap = node.at("g_s");
  link.gap = read_curve(gap);
  link.acknowledge_s = number_or(node, "acknowledge_s", 0, 0, max_seconds);
  link.loss = number_or(node, "loss", 0, 0, 1);
  link.crowded_s = number_or(node, "crowded_s", 0, 0, 1);
  return link;
}

Concurrency read_concurrency(const JsonNode& node) {
  node.allow_only({"index", "two_destinations_ratio", "two_directions_ratio", "details"});
  Concurrency concurrency;
  concurrency.index = static_cast<int>(node.integer_or("index", 1, 1, 64));
  concurrency.two_destinations_ratio = number_or(node, "two_destinations_ratio", 0, 0, 100);
  concurrency.two_directions_ratio = number_or(node, "two_directions_ratio", 0, 0, 100);
  return concurrency;
}

MachineName read_machine(const JsonNode& node) {
  node.allow_only({"name", "nodes", "ranks_per_node", "mpi", "fingerprint", "details"});
  MachineName machine;
  machine.name = node.at("name").text();
  machine.nodes = static_cast<int>(node.at("nodes").integer(1, max_nodes));
  machine.ranks_per_node = static_cast<int>(node.integer_or("ranks_per_node", 1, 1, 1 << 16));
  machine.fingerprint = text_or_empty(node, "fingerprint");
  if (const auto mpi = node.find("mpi")) {
    mpi->allow_only({"name", "version", "transport"});
    machine.mpi = text_or_empty(*mpi, "name");
    machine.mpi_version = text_or_empty(*mpi, "version");
    machine.transport = text_or_empty(*mpi, "transport");
  }
  return machine;
}

void check_codecs(const JsonNode& codecs) {
  const std::size_t count = codecs.array_size(1024);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode element = codecs.element(i);
    (void)element.at("name").text();
    for (const char* key : {"encode_bytes_per_s", "decode_bytes_per_s"}) (void)number_or(element, key, 0, 0, max_rate);
  }
}

/// Tells a foreign document and a document of a later Antiphon from a broken one.
void check_format(const JsonNode& document) {
  if (!document.is_object()) document.fail("not a profile: expected an object with \"format\": \"antiphon-profile\"");
  const auto format = document.find("format");
  if (!format) document.fail("not a profile: the field \"format\" is missing (expected \"antiphon-profile\")");
  if (format->text() != "antiphon-profile")
    format->fail("not a profile: \"" + format->text() + "\" instead of \"antiphon-profile\"");
  const JsonNode version = document.at("version");
  const std::int64_t number = version.integer(1);
  if (number != 1) {
    version.fail("this profile has version " + std::to_string(number) +
                 ", this Antiphon reads version 1: probe again, or use a newer Antiphon");
  }
}

Profile read(const JsonNode& document) {
  check_format(document);
  document.allow_only({"format", "version", "created", "tool", "machine", "link_classes", "topology", "contention",
                       "processors", "concurrency", "multicast", "codecs", "decisions", "measurements"});
  Profile profile;
  const JsonNode machine = document.at("machine");
  const JsonNode links = document.at("link_classes");
  const JsonNode topology = document.at("topology");
  profile.machine = read_machine(machine);
  read_link_classes(links, profile);
  read_topology(topology, profile.topology);
  if (const auto node = document.find("contention")) profile.contention = read_contention(*node);
  if (const auto node = document.find("processors")) profile.processors = read_processors(*node);
  if (const auto node = document.find("concurrency")) profile.concurrency = read_concurrency(*node);
  if (const auto node = document.find("multicast")) profile.multicast = read_multicast(*node);
  if (const auto node = document.find("codecs")) check_codecs(*node);
  return profile;
}

}  // namespace

Profile Profile::parse(std::string_view text) {
  const Json document = JsonNode::parse(text, max_document_bytes);
  return read(JsonNode(document));
}

}  // namespace antiphon
