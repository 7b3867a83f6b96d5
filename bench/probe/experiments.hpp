// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "task.hpp"

namespace probe {

// The experiments of `--do NAME`. Each is described with its keys above its definition.
void identify(World& world, const Task& task);
void round_trip_matrix(World& world, const Task& task);
void stream_matrix(World& world, const Task& task);
void curves(World& world, const Task& task);
void incast(World& world, const Task& task);
void all_to_all(World& world, const Task& task);
void concurrency(World& world, const Task& task);
void turns(World& world, const Task& task);
void crowd(World& world, const Task& task);
void shared(World& world, const Task& task);
void flows(World& world, const Task& task);

struct Entry {
  const char* name;
  Experiment run;
};
constexpr Entry experiments[] = {
    {"identify", identify},
    {"round_trips", round_trip_matrix},
    {"streams", stream_matrix},
    {"curves", curves},
    {"incast", incast},
    {"all_to_all", all_to_all},
    {"concurrency", concurrency},
    {"turns", turns},
    {"crowd", crowd},
    {"shared", shared},
    {"flows", flows},
};

}  // namespace probe
