// SPDX-License-Identifier: Apache-2.0
#include "entry/exchange_limits.hpp"

#include <algorithm>

#include "antiphon/problem.hpp"

namespace antiphon::mpi {

CreditLimits credit_limits(const Parameters& credit) {
  Problem p;
  p.parameters = credit;
  return {.piece_bytes = p.parameter("piece_bytes"),
          .credit_bytes = p.parameter("credit_bytes"),
          .sender_bytes = p.parameter("sender_bytes"),
          .short_bytes = p.parameter("short_bytes"),
          .short_window_bytes = p.parameter("window_bytes")};
}

CreditLimits in_step_limits(const Parameters& credit, const Parameters& phases, int ranks, int ranks_per_node) {
  CreditLimits limits = credit_limits(credit);
  Problem p;
  p.parameters = phases;
  const std::int64_t piece_bytes = p.parameter("piece_bytes");
  if (piece_bytes > 0) limits.piece_bytes = std::min(piece_bytes, limits.credit_bytes);
  limits.short_bytes = CreditLimits::short_for(limits.piece_bytes);
  // On a fast link, so few bytes pass before order would help.
  if (limits.piece_bytes > CreditLimits{}.piece_bytes) limits.short_at_once_bytes = 2 * limits.piece_bytes;
  limits.sender_bytes = std::min(limits.credit_bytes, limits.piece_bytes * p.parameter("window"));
  limits.fill_ports(ranks, ranks_per_node);
  return limits;
}

}  // namespace antiphon::mpi
