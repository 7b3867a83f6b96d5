// SPDX-License-Identifier: Apache-2.0
#include "network/agree.hpp"

namespace antiphon::network {

Json to_json(const Sighting& s) {
  Json links = Json::array();
  for (const Link& link : s.links) {
    links.push_back({{"name", link.interface.name},
                     {"ethernet", link.interface.ethernet},
                     {"bits_per_s", link.interface.bits_per_s},
                     {"source", link.interface.source},
                     {"claimed", link.interface.claimed},
                     {"connection_bits_per_s", link.interface.connection_bits_per_s},
                     {"keys", Json(link.keys)}});
  }
  Json devices = Json::array();
  for (const Device& d : s.devices)
    devices.push_back({{"name", d.name}, {"kind", d.kind}, {"bits_per_s", d.bits_per_s}, {"source", d.source}});
  const Json told{{"transport", s.told.transport},
                  {"component", s.told.component},
                  {"interfaces", s.told.interfaces},
                  {"source", s.told.source}};
  return {{"links", links},
          {"devices", devices},
          {"told", told},
          {"host", s.host},
          {"boot_id", s.machine.boot_id},
          {"cores", s.machine.cores.text()},
          {"look_s", s.machine.look_s}};
}

Sighting sighting_from_json(const Json& json) {
  Sighting s;
  for (const Json& link : json.at("links")) {
    Link read{.interface = {.name = link.at("name").as_string(),
                            .ethernet = link.at("ethernet").as_boolean(),
                            .bits_per_s = link.at("bits_per_s").as_integer(),
                            .source = link.at("source").as_string(),
                            .claimed = link.at("claimed").as_boolean(),
                            .connection_bits_per_s = link.at("connection_bits_per_s").as_integer()}};
    for (const Json& key : link.at("keys")) read.keys.push_back(static_cast<std::uint64_t>(key.as_integer()));
    s.links.push_back(std::move(read));
  }
  for (const Json& d : json.at("devices")) {
    s.devices.push_back({d.at("name").as_string(), d.at("kind").as_string(), d.at("bits_per_s").as_integer(),
                         d.at("source").as_string()});
  }
  const Json& told = json.at("told");
  s.told = {told.at("transport").as_string(), told.at("component").as_string(), told.at("interfaces").as_string(),
            told.at("source").as_string()};
  s.host = json.at("host").as_string();
  s.machine = {json.at("boot_id").as_string(), Cores::parse(json.at("cores").as_string()), json.at("look_s").as_real()};
  return s;
}

Json to_json(const Network& n) {
  Json json{{"transport", n.transport},
            {"name", n.name},
            {"component", n.component},
            {"interface", n.interface},
            {"link_bits_per_s", n.bits_per_s},
            {"connection_bits_per_s", n.connection_bits_per_s},
            {"transport_source", n.transport_source},
            {"interface_source", n.interface_source},
            {"rate_source", n.rate_source},
            {"rate_is_claimed", n.rate_is_claimed},
            {"between_nodes", n.between_nodes},
            {"cores_per_node", n.cores_per_node},
            {"nodes_sharing", n.nodes_sharing},
            {"ranks_on_cores", n.ranks_on_cores},
            {"turn_s", n.turn_s},
            {"line", n.line()}};
  const Measuring& m = n.measuring;
  if (m.rounds > 0) {
    json["measuring"] = {
        {"pairs", m.pairs}, {"rounds", m.rounds}, {"bytes", m.bytes}, {"messages", m.messages}, {"seconds", m.seconds}};
  }
  return json;
}

Network network_from_json(const Json& json) {
  const auto text = [&](const char* key) { return json.at(key).as_string(); };
  return {.transport = text("transport"),
          .name = text("name"),
          .component = text("component"),
          .interface = text("interface"),
          .bits_per_s = json.at("link_bits_per_s").as_integer(),
          .connection_bits_per_s = json.at("connection_bits_per_s").as_integer(),
          .transport_source = text("transport_source"),
          .interface_source = text("interface_source"),
          .rate_source = text("rate_source"),
          .rate_is_claimed = json.at("rate_is_claimed").as_boolean(),
          .between_nodes = text("between_nodes"),
          .cores_per_node = static_cast<int>(json.at("cores_per_node").as_integer()),
          .nodes_sharing = static_cast<int>(json.at("nodes_sharing").as_integer()),
          .ranks_on_cores = static_cast<int>(json.at("ranks_on_cores").as_integer()),
          .turn_s = json.at("turn_s").as_real()};
}

}  // namespace antiphon::network
