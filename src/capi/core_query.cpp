// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
extern "C" __attribute__((visibility("default"))) int antiphon_core_algorithms() { return static_cast<int>(antiphon::algorithms().size()); }
