// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace antiphon {

/// Returns the answer to a request, both JSON. Whatever is wrong with the request becomes {"ok": false, "error": "…"}.
std::string answer(std::string_view request);

}  // namespace antiphon
