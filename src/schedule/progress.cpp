// SPDX-License-Identifier: Apache-2.0
#include "antiphon/progress.hpp"

#include <algorithm>
#include <bit>

#include "antiphon/index.hpp"

namespace antiphon {

Progress::Progress(const Schedule& schedule) : schedule_(schedule), states_(schedule.ops().size()) {
  const auto ops = schedule.ops();
  successors_begin_.assign(ops.size() + 1, 0);
  for (const Dep& dep : schedule.all_deps()) ++successors_begin_[dep.op + 1];
  for (std::size_t i = 1; i < successors_begin_.size(); ++i) successors_begin_[i] += successors_begin_[i - 1];
  successors_.resize(schedule.all_deps().size());
  std::vector<std::uint32_t> fill(successors_begin_.begin(), successors_begin_.end());
  for (OpId id = 0; id < ops.size(); ++id) {
    for (const Dep& dep : schedule.deps(ops[id])) successors_[fill[dep.op]++] = id;
    State& state = states_[id];
    state.pieces = ops[id].pieces();
    state.message = ops[id].is_message();
    const std::int64_t wanted = ops[id].cut.window == 0 ? max_window : ops[id].cut.window;
    // Pieces of local operations complete as they start, one by one.
    state.window = state.message ? std::min({wanted, max_window, state.pieces}) : 1;
    if (!state.message) continue;
    const bool fans_out = ops[id].kind == OpKind::multicast;
    const std::size_t receivers = fans_out ? schedule.groups()[at(ops[id].group)].size() : 1;
    max_active_messages_ += static_cast<std::size_t>(state.window) * receivers;
  }
  messages_.reserve(ops.size());
  locals_.reserve(ops.size());
  reset();
}

void Progress::reset() {
  messages_.clear();
  locals_.clear();
  unfinished_ = states_.size();
  for (State& state : states_) {
    state.started = state.completed = 0;
    state.completed_after = 0;
    state.met = 0;
    state.queued = false;
  }
  for (OpId id = 0; id < states_.size(); ++id) enqueue(id);
}

bool Progress::may_start(OpId id) {
  State& state = states_[id];
  if (state.started == state.pieces || state.started - state.completed >= state.window) return false;
  const auto deps = schedule_.deps(schedule_.ops()[id]);
  for (; state.met < deps.size(); ++state.met) {
    const Dep& dep = deps[state.met];
    const State& before = states_[dep.op];
    const std::int64_t needed =
        dep.lag == Dep::whole ? before.pieces : std::clamp(state.started - dep.lag + 1, std::int64_t{0}, before.pieces);
    if (before.completed < needed) return false;
  }
  return true;
}

void Progress::enqueue(OpId id) {
  State& state = states_[id];
  if (state.queued || !may_start(id)) return;
  state.queued = true;
  (state.message ? messages_ : locals_).push(id);
}

bool Progress::next(Piece& piece) {
  if (messages_.empty() && locals_.empty()) return false;
  const OpId id = messages_.empty() ? locals_.pop() : messages_.pop();
  State& state = states_[id];
  state.queued = false;
  piece = {id, state.started++};
  state.met = 0;
  enqueue(id);
  return true;
}

void Progress::complete(const Piece& piece) {
  State& state = states_[piece.op];
  state.completed_after |= std::uint64_t{1} << (piece.index - state.completed);
  const int run = std::countr_one(state.completed_after);
  if (run == 0) return;
  state.completed += run;
  state.completed_after = run == 64 ? 0 : state.completed_after >> run;
  if (state.completed == state.pieces) --unfinished_;
  enqueue(piece.op);
  for (std::uint32_t i = successors_begin_[piece.op]; i < successors_begin_[piece.op + 1]; ++i) enqueue(successors_[i]);
}

}  // namespace antiphon
