// SPDX-License-Identifier: Apache-2.0
#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

const Method* find_method(std::string_view name) {
  for (const Method* m : methods()) {
    if (m->name == name) return m;
  }
  return nullptr;
}

}  // namespace antiphon::mapping
