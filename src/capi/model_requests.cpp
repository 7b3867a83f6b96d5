// SPDX-License-Identifier: Apache-2.0
#include "capi/model_requests.hpp"

#include "antiphon/profile.hpp"
#include "antiphon/select.hpp"

namespace antiphon {

using Json = nlohmann::ordered_json;

Json read_profile_request(const JsonNode& request) {
  const std::string& text = request.at("text").text();
  const Profile profile = Profile::parse(text);
  (void)Rules::of_profile(text);  // its decisions too
  Json links = Json::array();
  for (const LinkClass& link : profile.link_classes) {
    links.push_back({{"name", link.name}, {"scope", name(link.scope)}, {"latency_s", link.latency_s}});
  }
  return {{"machine", profile.machine.name},
          {"nodes", profile.machine.nodes},
          {"ranks_per_node", profile.machine.ranks_per_node},
          {"mpi", profile.machine.mpi},
          {"fingerprint", profile.machine.fingerprint},
          {"link_classes", links},
          {"switches", profile.topology.switches.size()},
          {"port_bytes_per_s", profile.port_bytes_per_s()}};
}

}  // namespace antiphon
