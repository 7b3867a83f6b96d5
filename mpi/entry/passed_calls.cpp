// SPDX-License-Identifier: Apache-2.0
#include "entry/passed_calls.hpp"

#include "call/reducible.hpp"
#include "entry/comm_state.hpp"
#include "observe/summary.hpp"
#include "observe/trace.hpp"

namespace antiphon::mpi::passed_calls {

namespace {

/// Tells whether what was decided follows from the call's key.
bool follows_from_key(const Description& d) {
  const Call& call = *d.call;
  if (call.form != Form::plain || call.sendcounts.present() || call.recvcounts.present()) return false;
  if (is_reduction(d.collective) && !is_predefined(call.op)) return false;
  return (!d.input.used || d.input.info.predefined) && (!d.output.used || d.output.info.predefined);
}

}  // namespace

void remember(const Description& d, CommState& state) {
  if (summary::enabled() || trace::on() || state.must_not_wait_in_library()) return;
  Decisions& decisions = state.decisions();
  if (!decisions.stands() || !follows_from_key(d)) return;
  const Key key = key_of(*d.call);
  const std::uint32_t now = generation.load(std::memory_order_relaxed);
  detail::slot_of(key) = {now, d.own_bytes > 0, key, &decisions, decisions.evidence()};
}

}  // namespace antiphon::mpi::passed_calls
