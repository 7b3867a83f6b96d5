// SPDX-License-Identifier: Apache-2.0
#include "capi/store_requests.hpp"

#include <ctime>

#include "antiphon/store.hpp"

namespace antiphon {

namespace {

std::vector<std::string> read_texts(const JsonNode& list) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list.array_size(); ++i) texts.push_back(list.element(i).text());
  return texts;
}

StoreKey read_key(const JsonNode& request) {
  return {read_texts(request.at("nodes")), request.at("mpi").text(), request.at("version").text()};
}

}  // namespace

Json store_directories_request(const JsonNode& request) {
  const auto directories =
      Store::directories(request.at("setting").text(), request.at("cache_home").text(), request.at("home").text());
  return {{"directories", Json(directories)}};
}

Json store_key_request(const JsonNode& request) { return {{"name", read_key(request).name()}}; }

Json store_profile_request(const JsonNode& request) {
  const JsonNode directories = request.at("directories");
  const StoreKey key = read_key(request);
  const Store store(read_texts(directories));
  const std::string why = store.save_profile(key, request.at("text").text());
  return {{"path", store.path_of(key) + "/profile.json"}, {"why", why}};
}

Json read_learned_request(const JsonNode& request) {
  const Learned learned = Learned::parse(request.at("text").text());
  Json document = learned.to_json();
  document["link_is_used"] = learned.knows_link(std::time(nullptr));
  return document;
}

}  // namespace antiphon
