// SPDX-License-Identifier: Apache-2.0
#include "entry/first_calls.hpp"

#include "entry/comm_shape.hpp"

namespace antiphon::mpi {

namespace {

/// On one node, the library does so many calls before ranks make what they share.
constexpr int calls_before_sharing = 8;
/// On several nodes, what schedules need takes about as long as so many of the shortest calls. These gain a tenth of
/// their time, others a share that grows with their time: the library does them until they would have gained as much.
constexpr double set_up_calls = 10;
constexpr double least_gain = 0.1;

int calls_before_set_up(const Question& q) {
  const double link_s =
      bits_on_link(q.collective, q.ranks, q.max_ranks_per_node, q.bytes) / static_cast<double>(q.link_bits_per_s);
  const double times_as_long = 1 + link_s / shortest_call_s(q.ranks);
  return static_cast<int>(set_up_calls / (least_gain * times_as_long * times_as_long));
}

std::string after(int calls) { return " is made after " + std::to_string(calls) + (calls == 1 ? " call" : " calls"); }

}  // namespace

FirstCalls first_calls(const Question& question, bool by_table, bool has_own) {
  // Another order of operations must not come in later.
  const bool keeps_order = is_reduction(question.collective) && !question.exact;
  if (by_table && keeps_order) {
    if (has_own) return {};
    return {FirstCalls::all, "a new communicator on one node: its ranks share nothing for sums that keep their order"};
  }
  if (by_table)
    return {calls_before_sharing, "a new communicator on one node: what its ranks share" + after(calls_before_sharing)};
  // The bytes of some calls are known to no rank.
  const bool knows_time = question.bytes >= 0 && question.link_bits_per_s > 0;
  if (question.nodes < 2 || keeps_order || !knows_time) return {};
  const int calls = calls_before_set_up(question);
  return {calls, "a new communicator: what its schedules need" + after(calls)};
}

}  // namespace antiphon::mpi
