// SPDX-License-Identifier: Apache-2.0
// The figures of a run for monitoring systems.
#pragma once

#include <string>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Returns the summary's document as metrics, in a text that OpenMetrics' and Prometheus' readers both take: all are
/// gauges, since they are the figures of one run that is over.
std::string metrics_text(const Json& summary);

}  // namespace antiphon::mpi
