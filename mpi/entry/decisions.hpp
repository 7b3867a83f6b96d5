// SPDX-License-Identifier: Apache-2.0
// These decisions say what each collective of one communicator uses; each is made once for each size.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "antiphon/overrides.hpp"
#include "antiphon/select.hpp"
#include "compress/trial.hpp"
#include "entry/comm_shape.hpp"
#include "entry/evidence.hpp"
#include "entry/first_calls.hpp"
#include "entry/own_comm.hpp"
#include "entry/run_model.hpp"

namespace antiphon::mpi {

/// What a call that the library does has used.
inline const std::string library_text = "library";

/// Returns alltoallv under the credit protocol, with what the profile says of credit, or the defaults.
const Choice& credit_choice();

/// Holds what a decision depends on: what all ranks know of a call.
struct Asked {
  Collective collective{};
  std::int64_t bytes = -1;  ///< as Question::bytes
  std::int64_t element_bytes = 1;
  bool commutative = true;
  bool encodable = false;    ///< the data may be compressed
  bool exact = true;         ///< as Question::exact
  bool takes_turns = false;  ///< this call may be done in another way to see which is faster
  bool waits = true;         ///< the call may wait for other ranks; a nonblocking one may not
  bool agrees = true;        ///< ranks may agree on what a call has shown, when it is over
  bool operator==(const Asked&) const = default;

  struct Hash {
    std::size_t operator()(const Asked& asked) const;
  };
};

class Decisions {
 public:
  /// `multicasts_work` tells whether all ranks hear each other's multicasts, `share_memory` whether those of a node
  /// share memory; their first calls are collective. So is each call of `from_first`. A communicator that the program
  /// has made `is_new`, until the program chooses for it; `own` is Antiphon's beside it. Shape and `own` must
  /// outlive the decisions.
  Decisions(const CommShape& shape, bool is_new, const Overrides& overrides, std::function<bool()> multicasts_work,
            std::function<bool()> share_memory, const OwnComm& own, run_model::FromFirst from_first)
      : shape_(shape), is_new_(is_new), overrides_(overrides), multicasts_work_(std::move(multicasts_work)),
        share_memory_(std::move(share_memory)), own_(own), from_first_(std::move(from_first)) {}
  ~Decisions();
  Decisions(const Decisions&) = delete;
  Decisions& operator=(const Decisions&) = delete;

  /// Returns what to use for this call; the same on every rank.
  const Choice& decide(const Asked& asked);
  /// Tells whether the rules choose for such a call what serves the ranks of a node together; the same on every rank.
  [[nodiscard]] bool nests(const Asked& asked) const;
  void set_override(Collective collective, const Override& value);
  [[nodiscard]] const Override& override_of(Collective collective) const { return overrides_[index(collective)]; }
  /// Tells whether the credit protocol carries out an alltoallv in rotated phases, which is Antiphon's own choice.
  [[nodiscard]] bool rotates(const Choice& choice) const;
  /// Returns the trial of the last decision if encoding is on trial for it, else null.
  [[nodiscard]] CodingTrial* on_trial() const { return on_trial_; }
  /// Returns the evidence whose call was decided last if that call is timed, and ends that; else null.
  [[nodiscard]] Evidence* take_timed() { return std::exchange(timed_, nullptr); }
  [[nodiscard]] bool times_call() const { return timed_ != nullptr; }
  /// Tells whether the decision that has just been made stands for like calls until passed calls are forgotten: each
  /// needs nothing but to be counted by the decision's evidence, if it has some.
  [[nodiscard]] bool stands() const;
  /// Returns the evidence of the last decision, or null.
  [[nodiscard]] Evidence* evidence() const { return last_ == nullptr ? nullptr : last_->evidence; }
  /// Notes that the ranks must agree on the times of nonblocking calls, at their next chance to wait.
  void note_due(Evidence& evidence);
  /// Returns those that were noted, the same on all ranks, and forgets them.
  [[nodiscard]] std::vector<Evidence*> take_due() { return std::exchange(due_, {}); }
  /// Tells whether ranks have something to agree on at that chance.
  [[nodiscard]] bool has_due() const { return !due_.empty() || !unasked_.empty(); }
  /// Puts the decisions on nonblocking calls to the model that have waited for it. Collective.
  void ask_model_about_nonblocking();

  /// Notes what the last call of each collective used, for antiphon_chosen().
  void note(Collective collective, const std::string& used) { used_[index(collective)] = &used; }
  /// The same for a text that may not live as long.
  void note_copy(Collective collective, const std::string& used) { note(collective, *texts_.insert(used).first); }
  [[nodiscard]] const std::string* used(Collective collective) const { return used_[index(collective)]; }

 private:
  struct Decision {
    // What each call looks at comes first, so that it is on one or two cache lines.
    int calls_until_anew = 0;  ///< the decision is made anew after so many calls; 0: it stands
    int part_of_first = 0;     ///< of a new communicator's first calls, in `all_first`; 0: a call is not one of these
    bool unasked = false;      ///< the model is to be asked when ranks may wait, or each computing for itself pays
    /// The ways of this call take turns, if there are any that may.
    Evidence* evidence = nullptr;
    /// These are set if encoding is on trial; `plain` and `plain_text` are those without encoding.
    std::unique_ptr<CodingTrial> trial;
    Choice choice;
    Asked asked;
    std::string text;
    Choice plain;
    std::string plain_text;
    std::optional<ModelAnswer> answer;  ///< nothing if the model was not asked
  };

  /// When a decision is made: at a first call, at one after those that it was to wait for, or while ranks may wait for
  /// each other between calls.
  enum class Moment { first_call, later_call, between_calls };

  static std::size_t index(Collective collective) { return static_cast<std::size_t>(collective); }
  [[nodiscard]] Question question_for(const Asked& asked) const;
  Decision make(const Asked& asked, Moment moment);
  [[nodiscard]] FirstCalls first_calls_of(const Question& question) const;
  void ask_model_about(Decision& decision, Moment moment);
  bool computing_pays(const Question& question, int calls);
  void note_unasked(const Asked& asked);
  const Choice& decided(const Asked& asked);
  const Choice& use(Decision& decision);
  [[nodiscard]] bool may_take_turns(const Decision& decision) const;
  [[nodiscard]] std::vector<Choice> ways_of(const Decision& decision) const;
  [[nodiscard]] static Evidence::Expected expected_of(const Decision& decision);
  Evidence* evidence_for(const Decision& decision);
  [[nodiscard]] Choice choose(Question& question) const;
  [[nodiscard]] Choice choose_by_mode(const Question& question) const;
  [[nodiscard]] bool is_for_one_node(const Question& question) const;
  [[nodiscard]] bool may_multicast(const Choice& choice) const;
  void encode(Decision& decision) const;
  void forget(Collective collective);

  const CommShape& shape_;
  bool is_new_;  ///< it may not live long
  Overrides overrides_;
  std::function<bool()> multicasts_work_;
  std::function<bool()> share_memory_;
  const OwnComm& own_;
  static constexpr int all_first = 1 << 20;
  int first_ = 0;  ///< of the first calls, whatever their sizes, so many parts have come
  run_model::FromFirst from_first_;
  /// Programs that work on less and less, as eliminations do, ask for hundreds of sizes.
  std::array<std::unordered_map<Asked, Decision, Asked::Hash>, collective_count> known_;
  std::array<const std::string*, collective_count> used_{};
  std::set<std::string> texts_;
  std::vector<std::unique_ptr<Evidence>> evidence_;
  CodingTrial* on_trial_ = nullptr;
  Evidence* timed_ = nullptr;
  const Decision* last_ = nullptr;
  std::vector<Evidence*> due_;
  std::vector<Asked> unasked_;  ///< whose decisions are `unasked`, or were
  /// What the links need for the nonblocking calls of each size class about which the model was not asked, in seconds.
  std::map<std::pair<Collective, std::int64_t>, double> unasked_s_;
};

}  // namespace antiphon::mpi
