// SPDX-License-Identifier: Apache-2.0
// Tells which algorithms are for ranks on several nodes or switches alone, as tests of these check them.
#pragma once

#include "antiphon/algorithm.hpp"

namespace antiphon {

inline bool needs_places(const Algorithm& a) {
  Problem p{a.collective, 0, 4, 0, 64, 8};
  p.parameters = resolve_parameters(a, {});
  p.send_bytes = p.recv_bytes = {64, 64, 64, 64};
  p.send_offsets = p.recv_offsets = {0, 64, 128, 192};
  const bool without = supports(a, p);
  p.node_sizes = p.switch_sizes = {2, 2};
  return !without && supports(a, p);
}

}  // namespace antiphon
