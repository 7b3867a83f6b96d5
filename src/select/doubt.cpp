// SPDX-License-Identifier: Apache-2.0
#include "select/doubt.hpp"

#include <utility>

namespace antiphon {

namespace {

/// Between idle cores, with a good network, latencies were as small as this part of what is guessed.
constexpr double least_latency = 0.4;
/// There, the library's must take so many times as long: ours gains little then, and loses nothing.
constexpr double no_loss = 1.05;

Cluster with_short_latency(const Cluster& cluster) {
  Profile profile = cluster.profile();
  for (LinkClass& link : profile.link_classes) link.latency_s *= least_latency;
  return {std::move(profile), {cluster.node_of_rank().begin(), cluster.node_of_rank().end()}};
}

}  // namespace

void doubt(ModelAnswer& answer, const PredictedCall& call, const Cluster& cluster, const LibraryAlgorithms& library,
           const PredictionLimits& limits) {
  if (!answer.library_s || *answer.library_s < answer.own_s * answer.enough) return;
  const Cluster quick = with_short_latency(cluster);
  const auto own = predict(call, *answer.own.algorithm, answer.own.parameters, quick.sharing_memory(), nullptr, limits);
  if (!own) return;
  PredictionLimits until_enough = limits;
  until_enough.max_seconds = own->seconds * no_loss;
  const auto library_s = library.predict_seconds(call, quick, until_enough);
  if (!library_s || *library_s >= until_enough.max_seconds) return;
  answer.own_s = own->seconds;
  answer.library_s = library_s;
}

}  // namespace antiphon
