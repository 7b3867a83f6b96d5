// SPDX-License-Identifier: Apache-2.0
#include "entry/account.hpp"

#include "job/clock.hpp"

namespace antiphon::mpi {

void count(const Call& call, const Outcome& outcome, std::string_view used) {
  const std::string_view reason = !outcome.done() && !outcome.why.empty() ? outcome.why : reason_of(outcome.fate);
  summary::count({.kind = kind_of(call),
                  .block_bytes = outcome.block_bytes,
                  .bytes = outcome.bytes,
                  .used = used,
                  .reason = reason,
                  .name = outcome.name,
                  .ranks = outcome.ranks,
                  .began_s = outcome.began_s,
                  .ended_s = now_s()});
}

}  // namespace antiphon::mpi
