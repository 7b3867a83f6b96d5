// SPDX-License-Identifier: Apache-2.0
// Compares when flows end with the rule word by word: the flows of a turn share what the turns before leave, and of
// all links the one is filled first that gives each flow the least.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "cost/flows.hpp"
#include "near.hpp"

using namespace antiphon;

namespace {

struct PlainFlow {
  Route route;
  double bytes = 0;
  bool brief = false;
  double end_s = -1;
};

constexpr double never = std::numeric_limits<double>::infinity();

/// Returns the flows' rates; those that have ended have 0.
std::vector<double> plain_rates(const std::vector<PlainFlow>& flows, const std::vector<double>& links) {
  std::vector<double> rates(flows.size(), 0), left = links;
  for (std::size_t turn = 0; turn < flows.size(); ++turn) {
    std::vector<std::size_t> waiting;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const auto ahead = std::count_if(
          flows.begin(), flows.begin() + static_cast<std::ptrdiff_t>(i),
          [&](const auto& f) { return f.end_s < 0 && f.brief && f.route.resources[0] == flows[i].route.resources[0]; });
      if (flows[i].end_s < 0 && ahead == static_cast<std::ptrdiff_t>(turn)) waiting.push_back(i);
    }
    const auto passes = [&](std::size_t i, std::size_t link) {
      const Route& r = flows[i].route;
      return std::find(r.resources.begin(), r.resources.begin() + r.count, link) != r.resources.begin() + r.count;
    };
    while (!waiting.empty()) {
      double least = never;
      std::size_t full = 0;
      for (std::size_t link = 0; link < links.size(); ++link) {
        const auto count = std::count_if(waiting.begin(), waiting.end(), [&](auto i) { return passes(i, link); });
        if (count > 0 && left[link] / static_cast<double>(count) < least) {
          least = left[link] / static_cast<double>(count);
          full = link;
        }
      }
      for (const std::size_t i : waiting) {
        if (!passes(i, full)) continue;
        rates[i] = least;
        for (std::size_t link = 0; link < links.size(); ++link)
          left[link] = std::max(left[link] - (passes(i, link) ? least : 0), 0.0);
      }
      std::erase_if(waiting, [&](std::size_t i) { return passes(i, full); });
    }
  }
  return rates;
}

void end_plainly(std::vector<PlainFlow>& flows, const std::vector<double>& links) {
  for (double now = 0;;) {
    const std::vector<double> rates = plain_rates(flows, links);
    double next = never;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (flows[i].end_s < 0 && rates[i] > 1e-6) next = std::min(next, flows[i].bytes / rates[i]);
    }
    if (next == never) return;
    now += next;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flows[i].bytes -= rates[i] * next;
      if (flows[i].end_s < 0 && flows[i].bytes < 1e-5) flows[i].end_s = now;
    }
  }
}

}  // namespace

TEST_CASE("flows that share links in turns end when the rule says") {
  std::mt19937_64 random(2);
  for (int times = 0; times < 60; ++times) {
    constexpr std::size_t ports = 6, uplinks = 2, most_of_port = 5;
    std::vector<double> links;  // out of ports, into ports, uplinks
    FlowNetwork network;
    for (std::size_t i = 0; i < 2 * ports + uplinks; ++i) {
      links.push_back(1e6 * static_cast<double>(1 + random() % 4));
      network.add_resource(links.back());
    }
    std::vector<PlainFlow> flows;
    for (std::size_t from = 0; from < ports; ++from) {
      for (std::size_t n = random() % (most_of_port + 1); n > 0; --n) {
        PlainFlow flow;
        flow.route.add(static_cast<ResourceId>(from));
        if (random() % 2 == 0) flow.route.add(static_cast<ResourceId>(2 * ports + random() % uplinks));
        flow.route.add(static_cast<ResourceId>(ports + random() % ports));
        flow.brief = random() % 3 != 0;
        flow.bytes = static_cast<double>(random() % 60'000 + 1000) * (flow.brief ? 1 : 100);
        flows.push_back(flow);
      }
    }
    for (const PlainFlow& flow : flows) network.start(flow.bytes, flow.route, 0);
    end_plainly(flows, links);
    std::size_t ended = 0;
    for (double next = network.next_event(); next < never; next = network.next_event()) {
      FlowId id = 0;
      if (!network.advance(id)) continue;
      ++ended;
      CHECK(next == near(flows[id].end_s, 1e-6));
    }
    CHECK(ended == flows.size());
  }
}
