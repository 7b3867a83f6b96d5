// SPDX-License-Identifier: Apache-2.0
#include "antiphon/cost.hpp"

namespace antiphon {

std::string_view name(Method method) {
  switch (method) {
    case Method::evaluated: return "evaluated";
    case Method::symmetric: return "symmetric";
    case Method::extrapolated: return "extrapolated";
  }
  return "?";
}

}  // namespace antiphon
