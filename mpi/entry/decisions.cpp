// SPDX-License-Identifier: Apache-2.0
#include "entry/decisions.hpp"

#include <algorithm>
#include <cmath>

#include "compress/collectives.hpp"
#include "entry/fate.hpp"
#include "entry/forget_passed.hpp"
#include "entry/learned.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// Decisions for this many sizes of one collective are kept; then they are made anew, 1 to 2 µs each.
constexpr std::size_t most_decisions = 1024;
/// Calls that take no time to speak of come this often before the model is asked about them.
constexpr int calls_before_model = 16;
/// So many collectives and classes of sizes of one communicator are tried.
constexpr std::size_t most_evidence = 256;

/// The reason of a choice that is a plan's, and that the rules would not have made.
constexpr std::string_view planned_patterns = "the plan has patterns for so many ranks";
constexpr std::string_view others_memory = "all ranks are on one node: shared memory is the library's business";

constexpr std::string_view no_shared_memory = "all ranks are on one node, and cannot share memory there";

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
      parse_choice(Collective::alltoallv, std::string(credit->name) + usual_credit_parameters());
  return choice;
}

std::size_t Asked::Hash::operator()(const Asked& asked) const {
  std::size_t value = static_cast<std::size_t>(asked.bytes) * 1021 + static_cast<std::size_t>(asked.element_bytes);
  for (const bool flag :
       {asked.commutative, asked.encodable, asked.exact, asked.takes_turns, asked.waits, asked.agrees})
    value = 2 * value + (flag ? 1 : 0);
  return value;
}

Decisions::~Decisions() {
  for (const auto& evidence : evidence_) learned::remove(*evidence);
}

void Decisions::forget(Collective collective) {
  used_[index(collective)] = nullptr;
  on_trial_ = nullptr;
  timed_ = nullptr;
  last_ = nullptr;
  known_[index(collective)].clear();
  passed_calls::forget();
}

bool Decisions::stands() const {
  if (last_ == nullptr || times_call() || world.has_planned_choices) return false;
  return last_->calls_until_anew == 0 && last_->part_of_first == 0 && last_->trial == nullptr;
}

void Decisions::note_due(Evidence& evidence) {
  due_.push_back(&evidence);
  passed_calls::forget();
}

void Decisions::set_override(Collective collective, const Override& value) {
  world.idle = false;
  is_new_ = false;
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
  const bool by_table = is_for_one_node(question);
  if (by_table && !world.speeds_up_one_node) return {nullptr, {}, std::string(others_memory)};
  const Choice& choice = world.rules->choose(question);
  // The table is for messages through shared memory. A call that may not wait cannot find out whether there is one.
  if (by_table && choice.algorithm != nullptr && !question.nonblocking && !share_memory_())
    return {nullptr, {}, std::string(no_shared_memory)};
  return choice;
}

/// Tells whether the table's rules for one node choose.
bool Decisions::is_for_one_node(const Question& question) const {
  return question.nodes < 2 && override_of(question.collective).mode == Override::Mode::automatic &&
         !world.rules->decides(question);
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
  const bool by_credit = choice.algorithm != nullptr && choice.algorithm->credit != CreditWay::none;
  if (question.collective == Collective::alltoallv && automatic && !by_credit && plan_has_patterns_for(shape_.size)) {
    choice = credit_choice();
    choice.reason = planned_patterns;
  }
  return choice;
}

/// Encodes the choice's messages on trial, if that can pay.
void Decisions::encode(Decision& decision) const {
  const std::int64_t bytes = decision.asked.bytes;
  // Even all that a call moves does not make a message that may be encoded, so no call needs a trial.
  const int most_blocks = has_blocks(decision.asked.collective) ? shape_.size : 1;
  const bool too_short = bytes > 0 && bytes * most_blocks < framing_state.least_bytes;
  if (!decision.asked.encodable || too_short) return;
  // Trying takes agreements. Without them each rank judges its own frames, so all messages are frames.
  if (!decision.asked.agrees && !frames_are_cheap()) return;
  if (override_of(decision.asked.collective).mode == Override::Mode::fixed) return;
  decision.plain = decision.choice;
  encode_messages(decision.choice, shape_.nodes);
  if (!encodes(decision.choice) || framing_state.always || !decision.asked.agrees) return;
  decision.trial = std::make_unique<CodingTrial>();
  decision.plain_text = decision.plain.to_string();
}

bool Decisions::rotates(const Choice& choice) const {
  const auto mode = override_of(choice.algorithm->collective).mode;
  return choice.algorithm->credit == CreditWay::in_step &&
         (mode == Override::Mode::automatic || mode == Override::Mode::own);
}

/// Tells whether other ways than the choice may be tried; the same on every rank.
bool Decisions::may_take_turns(const Decision& decision) const {
  const Asked& asked = decision.asked;
  if (!asked.takes_turns || !world.settings.adapts() || shape_.size <= 2) return false;
  // On one node nothing but the table's own rules for one node is known to be worth a trial.
  if (shape_.nodes < 2 && decision.choice.algorithm == nullptr) return false;
  if (override_of(asked.collective).mode != Override::Mode::automatic || world.transport == "other") return false;
  if (decision.choice.reason == planned_patterns) return false;
  // Another way may reduce in another order.
  if (is_reduction(asked.collective) && !asked.exact && !world.settings.adapts_reductions()) return false;
  return decision.trial == nullptr && !encodes(decision.choice);
}

/// Returns the choice and what it takes turns with: the library or, where that is the choice, what the rules would use
/// instead.
std::vector<Choice> Decisions::ways_of(const Decision& decision) const {
  std::vector<Choice> ways{decision.choice};
  if (decision.choice.algorithm != nullptr) {
    ways.emplace_back();
    return ways;
  }
  if (decision.answer) {
    ways.push_back(decision.answer->own);
    return ways;
  }
  Question question = question_for(decision.asked);
  question.multicasts = decision.asked.waits;
  const Choice* own = &world.rules->choose_own(question);
  if (own->algorithm != nullptr && own->algorithm->multicasts && (!decision.asked.encodable || !may_multicast(*own))) {
    question.multicasts = false;
    own = &world.rules->choose_own(question);
  }
  if (own->algorithm != nullptr) ways.push_back(*own);
  return ways;
}

/// Returns what the model expects of the ways of this decision.
Evidence::Expected Decisions::expected_of(const Decision& decision) {
  if (!decision.answer) return {};
  const double library_s = decision.answer->library_s.value_or(0);
  const double known_s = std::isfinite(library_s) ? library_s : 0;
  if (decision.choice.algorithm == nullptr) return {known_s, decision.answer->own_s};
  return {decision.answer->own_s, known_s};
}

/// Returns the evidence that this decision shares with those of like sizes; null if nothing may be tried.
Evidence* Decisions::evidence_for(const Decision& decision) {
  if (!may_take_turns(decision)) return nullptr;
  std::vector<Choice> ways = ways_of(decision);
  if (ways.size() < 2) return nullptr;
  const Asked& asked = decision.asked;
  const Evidence::Calls calls{asked.collective, SizeClass::of(asked.bytes), asked.commutative, asked.exact,
                              !asked.waits};
  for (const auto& known : evidence_) {
    if (known->is_for(calls, ways)) return known.get();
  }
  if (evidence_.size() >= most_evidence) return nullptr;
  evidence_.push_back(std::make_unique<Evidence>(calls, std::move(ways), expected_of(decision), shape_));
  learned::add(*evidence_.back());
  return evidence_.back().get();
}

Question Decisions::question_for(const Asked& asked) const {
  return {.collective = asked.collective,
          .ranks = shape_.size,
          .nodes = shape_.nodes,
          .max_ranks_per_node = shape_.max_ranks_per_node,
          .bytes = asked.bytes,
          .element_bytes = asked.element_bytes,
          .commutative = asked.commutative,
          .link_bits_per_s = world.settings.link_bits_per_s,
          .transport = world.transport,
          .blocked = shape_.blocked,
          .mpi = world.mpi,
          .exact = asked.exact,
          .nonblocking = !asked.waits,
          .stride = shape_.stride,
          .max_ranks_per_switch = shape_.max_ranks_per_switch,
          .shares_cores = world.ranks_on_core > 1};
}

bool Decisions::nests(const Asked& asked) const {
  const Choice& choice = world.rules->choose(question_for(asked));
  return choice.algorithm != nullptr && choice.algorithm->levels;
}

/// Puts the choice of the rules to the model: at once, or notes after how many calls.
void Decisions::ask_model_about(Decision& decision, Moment moment) {
  const Question question = question_for(decision.asked);
  if (override_of(question.collective).mode != Override::Mode::automatic || !run_model::may_ask(question)) return;
  if (decision.choice.algorithm != nullptr && decision.choice.algorithm->multicasts) return;
  const bool at_once = run_model::asks_at_once(question);
  if (moment == Moment::first_call && !at_once) {
    decision.calls_until_anew = std::max(calls_before_model, first_calls_of(question).calls);
    return;
  }
  const bool may_wait = decision.asked.waits || moment == Moment::between_calls;
  const int calls = at_once ? 1 : calls_before_model;
  // An order of operations cannot change later.
  if (!may_wait && question.exact && !computing_pays(question, calls)) {
    decision.calls_until_anew = calls;
    decision.unasked = true;
    note_unasked(decision.asked);
    return;
  }
  Question without = question;
  without.multicasts = false;
  // Without waiting, no rank can tell the others: each computes the answer, which follows from what all know alike.
  const auto& own = world.rules->choose_own(without);
  const auto answer = may_wait ? run_model::ask(question, shape_, decision.choice, own, from_first_)
                               : run_model::compute(question, shape_, decision.choice, own);
  if (!answer) return;
  Problem problem{question.collective, 0, question.ranks, 0, question.bytes, question.element_bytes,
                  question.commutative};
  problem.parameters = answer->own.parameters;
  problem.node_sizes = shape_.along.node_sizes;
  problem.switch_sizes = shape_.along.switch_sizes;
  if (!supports(*answer->own.algorithm, problem)) return;
  decision.answer = answer;
  decision.choice = choose_between(decision.choice, *answer);
}

/// Returns which calls like this one the library does before Antiphon makes what schedules need for them.
FirstCalls Decisions::first_calls_of(const Question& question) const {
  const bool automatic = override_of(question.collective).mode == Override::Mode::automatic;
  if (!is_new_ || !automatic || own_.in_use() || first_ >= all_first) return {};
  return first_calls(question, is_for_one_node(question), own_.exists());
}

/// Tells whether calls like this one have taken so long that each rank may compute what the model says of them; if not,
/// notes so many. Ranks that share a core compute one after the other.
bool Decisions::computing_pays(const Question& q, int calls) {
  constexpr double computing_s = 0.01;
  double& so_far_s = unasked_s_[{q.collective, SizeClass::of(q.bytes).least}];
  if (so_far_s >= computing_s * world.ranks_on_core) return true;
  const double bits = bits_on_link(q.collective, q.ranks, q.max_ranks_per_node, q.bytes);
  so_far_s += calls * bits / static_cast<double>(q.link_bits_per_s);
  return false;
}

/// Notes a decision for ask_model_about_nonblocking(), unless it is made anew and was noted before.
void Decisions::note_unasked(const Asked& asked) {
  const auto& known = known_[index(asked.collective)];
  if (const auto found = known.find(asked); found != known.end() && found->second.unasked) return;
  unasked_.push_back(asked);
  passed_calls::forget();
}

void Decisions::ask_model_about_nonblocking() {
  for (const Asked& asked : std::exchange(unasked_, {})) {
    auto& known = known_[index(asked.collective)];
    const auto found = known.find(asked);
    if (found != known.end() && found->second.unasked) found->second = make(asked, Moment::between_calls);
  }
}

Decisions::Decision Decisions::make(const Asked& asked, Moment moment) {
  Question question = question_for(asked);
  Decision fresh;
  fresh.asked = asked;
  question.multicasts = asked.waits;
  // A nonblocking call makes nothing, and a persistent operation, of which ranks agree on nothing, is planned once.
  const bool may_come_later = moment == Moment::first_call && asked.waits && asked.agrees;
  const FirstCalls first = may_come_later ? first_calls_of(question) : FirstCalls{};
  const auto could_be_scheduled = [&] {
    return world.rules->choose(question).algorithm != nullptr ||
           (run_model::may_ask(question) && run_model::asks_at_once(question));
  };
  if (first.calls != 0 && could_be_scheduled()) {
    fresh.choice.reason = first.reason;
    if (first.calls > 0) fresh.part_of_first = (all_first + first.calls - 1) / first.calls;
  } else {
    fresh.choice = choose(question);
    ask_model_about(fresh, moment);
    encode(fresh);
    if (!fresh.unasked) fresh.evidence = evidence_for(fresh);
  }
  fresh.text = fresh.choice.to_string();
  if (world.settings.verbose >= 2 && shape_.rank == 0) {
    const std::string why = fresh.choice.reason.empty() ? "" : " (" + fresh.choice.reason + ")";
    warn(std::string(name(asked.collective)) + " of " + std::to_string(asked.bytes) + " bytes on " +
         std::to_string(shape_.size) + " ranks: " + fresh.text + why);
  }
  return fresh;
}

const Choice& Decisions::decide(const Asked& asked) {
  const Choice& choice = decided(asked);
  if (world.has_planned_choices) world.plan_use.count(choice);
  return choice;
}

const Choice& Decisions::decided(const Asked& asked) {
  auto& known = known_[index(asked.collective)];
  if (const auto found = known.find(asked); found != known.end()) {
    Decision& decision = found->second;
    const bool first_are_over = decision.part_of_first > 0 && first_ >= all_first;
    if (first_are_over || (decision.calls_until_anew > 0 && --decision.calls_until_anew == 0))
      decision = make(asked, Moment::later_call);
    return use(decision);
  }
  if (known.size() >= most_decisions) forget(asked.collective);
  return use(known.emplace(asked, make(asked, Moment::first_call)).first->second);
}

const Choice& Decisions::use(Decision& decision) {
  const Collective collective = decision.asked.collective;
  on_trial_ = decision.trial.get();
  timed_ = nullptr;
  last_ = &decision;
  first_ += decision.part_of_first;
  if (Evidence* const evidence = decision.evidence) {
    const Choice& way = evidence->begin();
    if (evidence->timed()) timed_ = evidence;
    note(collective, evidence->text());
    return way;
  }
  const bool plain = on_trial_ != nullptr && !on_trial_->begin();
  note(collective, plain ? decision.plain_text : decision.text);
  return plain ? decision.plain : decision.choice;
}

}  // namespace antiphon::mpi
