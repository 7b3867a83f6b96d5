// SPDX-License-Identifier: Apache-2.0
#include "entry/decisions.hpp"

#include <algorithm>

#include "antiphon/credit.hpp"
#include "compress/collectives.hpp"
#include "entry/fate.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// Decisions for this many sizes of one collective are kept, which is enough for a program's inner loop.
constexpr std::size_t most_decisions = 256;

/// Tells whether the plan has patterns for this number of ranks; the same on every rank.
bool plan_has_patterns_for(int ranks) {
  const auto& patterns = world.plan.patterns;
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return p.phases.size == ranks; });
}

}  // namespace

const Choice& credit_choice() {
  static const Algorithm* const credit =
      find_algorithm(Collective::alltoallv, [](const Algorithm& a) { return a.credit == CreditWay::free; });
  static const Choice choice =
      parse_choice(Collective::alltoallv, std::string(credit->name) + credit_parameters(world.settings.credit_bytes));
  return choice;
}

void Decisions::forget(Collective collective) {
  used_[index(collective)] = nullptr;
  on_trial_ = nullptr;
  known_[index(collective)].clear();
}

void Decisions::set_override(Collective collective, const Override& value) {
  world.idle = false;
  overrides_[index(collective)] = value;
  forget(collective);
}

Choice Decisions::choose_by_mode(const Question& question) const {
  const Override& over = override_of(question.collective);
  switch (over.mode) {
    case Override::Mode::library: return {nullptr, {}, std::string(reason_of(Fate::library_chosen))};
    case Override::Mode::fixed: return over.choice;
    case Override::Mode::own: return world.rules->choose_own(question);
    case Override::Mode::automatic: break;
  }
  return world.rules->choose(question);
}

/// Tells whether a choice that multicasts may be used: the user asks for it, or the ranks hear each other's multicasts.
bool Decisions::may_multicast(const Choice& choice) const {
  if (choice.algorithm == nullptr || !choice.algorithm->multicasts) return true;
  if (override_of(choice.algorithm->collective).mode == Override::Mode::fixed) return true;
  return shape_.nodes > 1 && multicasts_work_();
}

Choice Decisions::choose(Question& question) const {
  Choice choice = choose_by_mode(question);
  if (!may_multicast(choice)) {
    question.multicasts = false;
    choice = choose_by_mode(question);
  }
  const bool automatic = override_of(question.collective).mode == Override::Mode::automatic;
  if (question.collective == Collective::alltoallv && automatic && plan_has_patterns_for(shape_.size)) {
    if (choice.algorithm != credit_choice().algorithm) choice = credit_choice();
    choice.reason = "the plan has patterns for so many ranks";
  }
  return choice;
}

/// Encodes the choice's messages on trial, if that can pay.
void Decisions::encode(Decision& decision, Collective collective) const {
  const bool multicasts = decision.choice.algorithm != nullptr && decision.choice.algorithm->multicasts;
  const std::int64_t bytes = decision.key.bytes;
  // Even all blocks together do not make a message that may be encoded, so no call needs a trial.
  const bool too_short = bytes > 0 && bytes * shape_.size < framing_state.threshold_bytes;
  if (!decision.key.encodable || too_short || multicasts) return;
  if (override_of(collective).mode == Override::Mode::fixed) return;
  decision.plain = decision.choice;
  encode_messages(decision.choice, shape_.nodes);
  if (!encodes(decision.choice) || framing_state.always) return;
  decision.trial = std::make_unique<CodingTrial>();
  decision.plain_text = decision.plain.to_string();
}

std::unique_ptr<Decisions::Decision> Decisions::make(Collective collective, const Key& key) {
  Question question{.collective = collective,
                    .ranks = shape_.size,
                    .nodes = shape_.nodes,
                    .max_ranks_per_node = shape_.max_ranks_per_node,
                    .bytes = key.bytes,
                    .element_bytes = key.element_bytes,
                    .commutative = key.commutative,
                    .link_bits_per_s = world.settings.link_bits_per_s,
                    .transport = world.transport,
                    .blocked = shape_.blocked,
                    .mpi = world.mpi};
  auto fresh = std::make_unique<Decision>();
  fresh->key = key;
  fresh->choice = choose(question);
  encode(*fresh, collective);
  fresh->text = fresh->choice.to_string();
  if (world.settings.verbose >= 2 && shape_.rank == 0) {
    const std::string why = fresh->choice.reason.empty() ? "" : " (" + fresh->choice.reason + ")";
    warn(std::string(name(collective)) + " of " + std::to_string(key.bytes) + " bytes on " +
         std::to_string(shape_.size) + " ranks: " + fresh->text + why);
  }
  return fresh;
}

const Choice& Decisions::decide(Collective collective, std::int64_t bytes, std::int64_t element_bytes, bool commutative,
                                bool encodable) {
  const Key key{bytes, element_bytes, commutative, encodable};
  auto& known = known_[index(collective)];
  for (const auto& decision : known) {
    if (decision->key == key) return use(*decision, collective);
  }
  if (known.size() >= most_decisions) forget(collective);
  known.push_back(make(collective, key));
  return use(*known.back(), collective);
}

const Choice& Decisions::use(Decision& decision, Collective collective) {
  on_trial_ = decision.trial.get();
  const bool plain = on_trial_ != nullptr && !on_trial_->begin();
  note(collective, plain ? decision.plain_text : decision.text);
  return plain ? decision.plain : decision.choice;
}

}  // namespace antiphon::mpi
