// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "message.hpp"
#include "random.hpp"

namespace antiphon::codec_bench {

std::optional<MessageTrace> generate_grid(const std::string& name, std::uint64_t seed);

}  // namespace antiphon::codec_bench
