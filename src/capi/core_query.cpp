// SPDX-License-Identifier: Apache-2.0
// The export of the core's Python library: one question, one answer, both JSON.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "capi/requests.hpp"

namespace {

char* copied(const std::string& text) noexcept {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

/// Answers a request {"request": "algorithms", …} (python/antiphon/core knows them all) by {"ok": true, …} or {"ok":
/// false, "error": "…"}. The caller hands the answer to antiphon_core_free. Returns nullptr only where memory is
/// exhausted.
extern "C" __attribute__((visibility("default"))) char* antiphon_core_query(const char* request_json) noexcept {
  try {
    return copied(antiphon::answer(request_json == nullptr ? "" : request_json));
  } catch (const std::exception&) {
    return nullptr;
  }
}

extern "C" __attribute__((visibility("default"))) void antiphon_core_free(char* answer) noexcept { std::free(answer); }
