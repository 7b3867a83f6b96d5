// SPDX-License-Identifier: Apache-2.0
// A guessed profile takes latencies from a table. Where they are shorter in truth, many short rounds are faster than
// the guess says, and so is a library that has them.
#pragma once

#include "antiphon/cluster.hpp"
#include "antiphon/library_algorithms.hpp"
#include "antiphon/model_choice.hpp"

namespace antiphon {

/// Holds an answer that takes a call from the library against the same cluster with the shortest latencies that it
/// may well have. If the library would be as fast there, the times on that cluster become the answer's.
void doubt(ModelAnswer& answer, const PredictedCall& call, const Cluster& cluster, const LibraryAlgorithms& library,
           const PredictionLimits& limits);

}  // namespace antiphon
