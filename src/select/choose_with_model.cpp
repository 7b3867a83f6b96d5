// SPDX-License-Identifier: Apache-2.0
// What a run would use, for those who ask before one: the rules, then the model.
#include "antiphon/library_algorithms.hpp"
#include "antiphon/model_choice.hpp"

namespace antiphon {

Choice choose_with_model(const Rules& rules, const Question& asked, const Profile& profile) {
  const Cluster cluster = asked.blocked ? Cluster::blocked(profile, asked.ranks, asked.max_ranks_per_node)
                                        : Cluster::round_robin(profile, asked.ranks, asked.nodes);
  Question question = asked;
  question.shares_cores = asked.shares_cores || cluster.cores() > 0;
  Choice of_table = rules.choose(question);
  const bool multicasts = of_table.algorithm != nullptr && of_table.algorithm->multicasts;
  if (multicasts || question.transport != "tcp" || rules.decides(question)) return of_table;
  Question without = question;
  without.multicasts = false;
  const Choice& own = rules.choose_own(without);
  const auto answer = ask_model(question, cluster, of_table, own, LibraryAlgorithms::of(question.mpi));
  return answer ? choose_between(of_table, *answer) : of_table;
}

}  // namespace antiphon
