// SPDX-License-Identifier: Apache-2.0
// The model's choices in a run: what the rules choose is put to the model of this machine, once for each class of
// calls.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "antiphon/model_choice.hpp"
#include "entry/comm_shape.hpp"

namespace antiphon::mpi::run_model {

/// Tells whether the model has a say about this call; the same on every rank.
bool may_ask(const Question& question);

/// Tells whether asking pays at the first call: it takes long enough, or its order of operations must never change.
bool asks_at_once(const Question& question);

/// Replaces a text by that of the communicator's first rank; collective.
using FromFirst = std::function<void(std::span<char> text)>;

/// Returns the model's answer for calls of this size class; nothing where it has none. The first rank computes it,
/// which takes milliseconds, once for each set of nodes, and tells the others: collective. The same ranks ask once.
std::optional<ModelAnswer> ask(const Question& question, const CommShape& shape, const Choice& of_rules,
                               const Choice& own_of_rules, const FromFirst& from_first);

/// Returns the same, computed by this rank for itself, for calls that may not wait for others. Every rank gets the same
/// answer: it follows from what all know, and the model's arithmetic rounds alike on all machines of an architecture.
std::optional<ModelAnswer> compute(const Question& question, const CommShape& shape, const Choice& of_rules,
                                   const Choice& own_of_rules);

}  // namespace antiphon::mpi::run_model
