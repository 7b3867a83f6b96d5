// SPDX-License-Identifier: Apache-2.0
#include "entry/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "entry/forget_passed.hpp"
#include "entry/waits.hpp"
#include "job/clock.hpp"
#include "job/progress.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "observe/text_table.hpp"

namespace antiphon::mpi {

namespace {

constexpr double ns_per_s = 1e9;
/// A rank that shares its core runs and waits in turns of some milliseconds. Calls in a row last longer than these, or
/// most rows show only the turns in which it runs.
constexpr double row_on_shared_cores_ns = 1e7;

/// Tells whether some ranks may be through with a call long before others, so that calls in a row overlap.
bool overlaps(Collective collective) {
  return has_root(collective) || collective == Collective::scan || collective == Collective::exscan;
}

/// Estimates what agreeing costs, and after how many calls it is worth that, from what all ranks know. Agreeing is
/// itself a short collective, so the estimate is of the right size even where the latency is another.
Turns::Terms terms_for(const Evidence::Calls& calls, const CommShape& shape, Evidence::Expected expected, int ways) {
  constexpr double fast_link_bits_per_s = 1e10;  // where the rate is unknown
  constexpr double first_share = 0.008;          // of the first calls' time, for the first agreement
  constexpr double most_calls = 256;
  constexpr double long_call_s = 1e-3;
  constexpr double usual_share = 2;  // of a call's time over its wire's and latencies', about
  const double rate =
      world.settings.link_bits_per_s > 0 ? static_cast<double>(world.settings.link_bits_per_s) : fast_link_bits_per_s;
  const double rounds_s = shortest_call_s(shape.size);
  const std::int64_t bytes = std::max<std::int64_t>(0, calls.sizes.least);
  const double wire_s = bits_on_link(calls.collective, shape.size, shape.max_ranks_per_node, bytes) / rate;
  const double agreement_s = 2 * rounds_s;
  const bool exchanges = calls.collective == Collective::alltoall || calls.collective == Collective::alltoallv;
  const double messages_s = exchanges ? usual_latency_s / 2 * (shape.size - 1) : 0;
  const double calls_needed = std::ceil(agreement_s / (first_share * std::max({rounds_s, wire_s, messages_s})));
  const bool knows_wire = world.settings.link_bits_per_s > 0 && wire_s > long_call_s;
  if (expected.in_use_s == 0 && knows_wire) expected.in_use_s = usual_share * (rounds_s + wire_s + messages_s);
  // Of a nonblocking call the model expects the whole time, not what is left of it.
  if (calls.nonblocking) expected = {};
  const bool in_rows = !calls.nonblocking && overlaps(calls.collective);
  return {.contenders = ways,
          .first_round = static_cast<int>(std::min(most_calls, calls_needed)),
          .agreement_ns = static_cast<std::int64_t>(ns_per_s * agreement_s),
          .expected_ns = ns_per_s * expected.in_use_s,
          .expected_other_ns = ns_per_s * expected.other_s,
          .in_rows = in_rows,
          .lasting_row_ns = in_rows && world.ranks_on_core > 1 ? row_on_shared_cores_ns : 0};
}

}  // namespace

Evidence::Evidence(const Calls& calls, std::vector<Choice> ways, const Expected& expected, const CommShape& shape)
    : calls_(calls), shape_(shape), ways_(std::move(ways)),
      turns_(terms_for(calls, shape, expected, static_cast<int>(ways_.size()))) {
  for (const Choice& way : ways_) texts_.push_back(way.to_string());
  for (std::size_t i = 1; i < ways_.size(); ++i) ways_[i].reason = "takes turns with " + texts_[0] + ": see \"tried\"";
}

bool Evidence::is_for(const Calls& calls, const std::vector<Choice>& ways) const {
  return calls == calls_ &&
         std::equal(ways.begin(), ways.end(), ways_.begin(), ways_.end(), [](const Choice& a, const Choice& b) {
           return a.algorithm == b.algorithm && a.parameters == b.parameters;
         });
}

const Choice& Evidence::begin() {
  ++number_;
  if (due_) {
    way_ = static_cast<std::size_t>(turns_.in_use());
    return ways_[way_];
  }
  if (is_sharing_) {
    way_ = static_cast<std::size_t>(turns_.in_use());
    look_at_sharing();
    timed_ = ++meanwhile_.calls == conclude_at_;
    return ways_[way_];
  }
  way_ = static_cast<std::size_t>(turns_.next());
  timed_ = turns_.timed();
  if (timed_) began_s_ = now_s();
  else turns_.done(Turns::no_time);  // never the last call of a round
  return ways_[way_];
}

bool Evidence::end(bool as_chosen) {
  timed_ = false;
  if (is_sharing_) return true;
  const double ns = ns_per_s * (now_s() - began_s_);
  return turns_.done(as_chosen ? std::max<std::int64_t>(1, static_cast<std::int64_t>(ns)) : Turns::no_time);
}

bool Evidence::started(const MPI_Request* request) {
  timed_ = false;
  left_.push_back(request == nullptr ? nullptr : watch_completion(*request, began_s_));
  due_ = turns_.done(Turns::no_time);
  return due_;
}

/// Hands over the times of nonblocking calls, which have ended by now, or count nowhere.
void Evidence::take_times() {
  for (std::size_t i = 0; i < left_.size(); ++i) {
    if (left_[i] != nullptr) turns_.set_time(i, left_[i]->ns());
  }
  left_.clear();
  due_ = false;
}

std::string Evidence::name_of_all() const {
  std::string all(name(calls_.collective));
  for (const std::int64_t value : {calls_.sizes.least, calls_.sizes.most, std::int64_t{calls_.commutative},
                                   std::int64_t{calls_.exact}, std::int64_t{calls_.nonblocking}})
    all += ' ' + std::to_string(value);
  for (const std::string& text : texts_) all += ' ' + text;
  for (const int node : shape_.node_of_rank) all += ' ' + std::to_string(node);
  return all;
}

/// Begins to replace the numbers by their maxima over all ranks; once also finds out whether all ranks offer the same
/// knowledge.
void Evidence::begin_sharing(MPI_Comm comm) {
  const auto numbers = turns_.numbers();
  shared_.assign(numbers.begin(), numbers.end());
  const std::int64_t offer = offered_ ? offered_->fingerprint() : 0;
  if (!agreed_) shared_.insert(shared_.end(), {offer, -offer});
  // Whole numbers, and their maximum: the result is the same on all ranks to the last bit.
  const int count = static_cast<int>(shared_.size());
  is_sharing_ =
      (rides_ ? PMPI_Iallreduce(MPI_IN_PLACE, shared_.data(), count, MPI_INT64_T, MPI_MAX, comm, &sharing_)
              : PMPI_Allreduce(MPI_IN_PLACE, shared_.data(), count, MPI_INT64_T, MPI_MAX, comm)) == MPI_SUCCESS;
}

void Evidence::agree(MPI_Comm comm, bool comm_is_own) {
  const double began_s = now_s();
  if (!is_sharing_) {
    take_times();
    rides_ = turns_.in_rows() && comm_is_own;
    if (comm != MPI_COMM_NULL) begin_sharing(comm);
    if (!is_sharing_) return turns_.skip();
    sharing_s_ = now_s() - began_s;
    meanwhile_ = {};
    // A chain has as many calls under way as it has ranks.
    conclude_at_ = std::max(static_cast<std::uint64_t>(shape_.size), turns_.calls_to_agree());
    if (rides_) return;
  }
  if (!finish_sharing()) return turns_.skip();
  sharing_s_ += rides_ ? now_s() - began_s : 0;
  // Where ranks wait for the last one although calls overlap, that time says nothing of what comes.
  if (turns_.in_rows() && !rides_) sharing_s_ = 0;
  conclude();
}

/// Tells how many calls this rank is ahead of the last one.
void Evidence::look_at_sharing() {
  if (sharing_ == MPI_REQUEST_NULL) return;
  meanwhile_.until_agreed = meanwhile_.calls;
  int done = 0;
  if (PMPI_Test(&sharing_, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) sharing_ = MPI_REQUEST_NULL;
}

bool Evidence::finish_sharing() {
  // Operations advance meanwhile, because other ranks may wait for them.
  int rc = MPI_SUCCESS;
  if (sharing_ != MPI_REQUEST_NULL)
    rc = operations_under_way() ? wait_for(sharing_) : PMPI_Wait(&sharing_, MPI_STATUS_IGNORE);
  sharing_ = MPI_REQUEST_NULL;
  is_sharing_ = false;
  return rc == MPI_SUCCESS;
}

/// Draws the conclusions from what the ranks have agreed on.
void Evidence::conclude() {
  const auto numbers = turns_.numbers();
  std::copy_n(shared_.begin(), numbers.size(), numbers.begin());
  const bool all_offer_the_same = !agreed_ && shared_.back() < 0 && shared_.end()[-2] == -shared_.back();
  agreed_ = true;
  const int before = turns_.in_use();
  turns_.take_in(static_cast<std::int64_t>(ns_per_s * sharing_s_), meanwhile_);
  if (all_offer_the_same) {
    offered_->resume(turns_);
    turns_ = *offered_;
  }
  offered_.reset();
  const auto in_use = static_cast<std::size_t>(turns_.in_use());
  if (turns_.knows()) {
    measured_ = why();
    // The figures change with each decision; calls of the same way are one row of the summary all the same.
    ways_[in_use].reason = measured_.substr(0, measured_.find(": ")) + ": see \"tried\"";
  }
  if (turns_.in_use() == before) return;
  passed_calls::forget();
  announce();
}

/// Says which measurement the way in use rests on.
std::string Evidence::why() const {
  std::string text = calls_.nonblocking ? "measured in this run, beside the computation: " : "measured in this run: ";
  const char* separator = "";
  for (int i = 0; i < static_cast<int>(ways_.size()); ++i) {
    const Turns::Shown& shown = turns_.shown(i);
    if (i == turns_.in_use() || shown.verdict == PairedTest::Verdict::open) continue;
    text += separator + time_text(shown.in_use_seconds) + ", " + texts_[static_cast<std::size_t>(i)] + " " +
            time_text(shown.seconds) + ", " + std::to_string(shown.pairs) + " pairs of calls";
    separator = "; ";
  }
  return text;
}

/// Tells users who want to know of choices that this one has changed.
void Evidence::announce() const {
  if (world.settings.verbose < 2 || shape_.rank != 0) return;
  const auto in_use = static_cast<std::size_t>(turns_.in_use());
  warn(std::string(name(calls_.collective)) + " of " + std::to_string(calls_.sizes.least) + " to " +
       std::to_string(calls_.sizes.most) + " bytes on " + std::to_string(shape_.size) + " ranks: now " +
       texts_[in_use] + " (" + (turns_.knows() ? measured_ : ways_[in_use].reason) + ")");
}

Json Evidence::row() const {
  const int in_use = turns_.in_use();
  for (int i = 0; i < static_cast<int>(ways_.size()); ++i) {
    const Turns::Shown& shown = turns_.shown(i);
    if (i == in_use || shown.pairs == 0) continue;
    const bool sized = calls_.sizes.least >= 0;
    return {{"collective", (calls_.nonblocking ? "i" : "") + std::string(name(calls_.collective))},
            {"least_bytes", sized ? Json(calls_.sizes.least) : Json()},
            {"most_bytes", sized ? Json(calls_.sizes.most) : Json()},
            {"ranks", shape_.size},
            {"nodes", shape_.nodes},
            {"calls", number_},
            {"in_use", texts_[static_cast<std::size_t>(in_use)]},
            {"in_use_s", shown.in_use_seconds},
            {"tried", texts_[static_cast<std::size_t>(i)]},
            {"tried_s", shown.seconds},
            {"pairs", shown.pairs},
            {"decided", shown.verdict != PairedTest::Verdict::open},
            {"lost", turns_.lost_ns() / std::max(1.0, turns_.taken_ns())}};
  }
  return nullptr;
}

Json Evidence::rule() const {
  // After a change of the network, what was found last is still the best that a next run can begin with.
  if (!turns_.knows() && measured_.empty()) return nullptr;
  const auto in_use = static_cast<std::size_t>(turns_.in_use());
  const auto only = [](std::int64_t value) { return Json::array({value, value}); };
  Json rule{{"collective", name(calls_.collective)}};
  if (calls_.sizes.least >= 0) rule["bytes"] = Json::array({calls_.sizes.least, calls_.sizes.most});
  rule["ranks"] = only(shape_.size);
  rule["nodes"] = only(shape_.nodes);
  rule["ranks_per_node"] = only(shape_.max_ranks_per_node);
  rule["blocked"] = shape_.blocked;
  rule["stride"] = only(shape_.stride);
  rule["nonblocking"] = calls_.nonblocking;
  // What holds for operands that may be worked on in any order must not change the order of others.
  if (is_reduction(calls_.collective) && calls_.exact) rule["exact"] = true;
  if (is_reduction(calls_.collective)) rule["commutative"] = calls_.commutative;
  if (world.mpi == "openmpi" || world.mpi == "mpich") rule["mpi"] = world.mpi;
  rule["use"] = texts_[in_use];
  std::string reason = turns_.knows() ? why() : measured_;
  rule["why"] = reason.replace(0, std::string("measured in this run").size(), "measured in an earlier run");
  return rule;
}

}  // namespace antiphon::mpi
