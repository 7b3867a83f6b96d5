// SPDX-License-Identifier: Apache-2.0
// These decisions say what each collective of one communicator uses; each is made once for each size.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "antiphon/overrides.hpp"
#include "antiphon/select.hpp"
#include "compress/trial.hpp"
#include "entry/comm_shape.hpp"

namespace antiphon::mpi {

/// Returns alltoallv under the credit protocol, with what the profile says of credit, or the defaults.
const Choice& credit_choice();

class Decisions {
 public:
  /// `multicasts_work` tells whether all ranks hear each other's multicasts; its first call is collective. The shape
  /// must outlive the decisions.
  Decisions(const CommShape& shape, const Overrides& overrides, std::function<bool()> multicasts_work)
      : shape_(shape), overrides_(overrides), multicasts_work_(std::move(multicasts_work)) {}

  /// Returns what to use for this collective and these sizes; the same on every rank. `encodable` says that the data
  /// may be compressed.
  const Choice& decide(Collective collective, std::int64_t bytes, std::int64_t element_bytes, bool commutative,
                       bool encodable);
  void set_override(Collective collective, const Override& value);
  [[nodiscard]] const Override& override_of(Collective collective) const { return overrides_[index(collective)]; }
  /// Returns the trial of the last decision if encoding is on trial for it, else null.
  [[nodiscard]] CodingTrial* on_trial() const { return on_trial_; }

  /// Notes what the last call of each collective used, for antiphon_chosen().
  void note(Collective collective, const std::string& used) { used_[index(collective)] = &used; }
  [[nodiscard]] const std::string* used(Collective collective) const { return used_[index(collective)]; }

 private:
  /// Holds what a decision depends on, besides the collective.
  struct Key {
    std::int64_t bytes;
    std::int64_t element_bytes;
    bool commutative;
    bool encodable;
    bool operator==(const Key&) const = default;
  };
  struct Decision {
    Key key;
    Choice choice;
    std::string text;
    /// These are set if encoding is on trial; the choice and text that follow are those without encoding.
    std::unique_ptr<CodingTrial> trial;
    Choice plain;
    std::string plain_text;
  };

  static std::size_t index(Collective collective) { return static_cast<std::size_t>(collective); }
  std::unique_ptr<Decision> make(Collective collective, const Key& key);
  const Choice& use(Decision& decision, Collective collective);
  [[nodiscard]] Choice choose(Question& question) const;
  [[nodiscard]] Choice choose_by_mode(const Question& question) const;
  [[nodiscard]] bool may_multicast(const Choice& choice) const;
  void encode(Decision& decision, Collective collective) const;
  void forget(Collective collective);

  const CommShape& shape_;
  Overrides overrides_;
  std::function<bool()> multicasts_work_;
  std::array<std::vector<std::unique_ptr<Decision>>, collective_count> known_;
  std::array<const std::string*, collective_count> used_{};
  CodingTrial* on_trial_ = nullptr;
};

}  // namespace antiphon::mpi
