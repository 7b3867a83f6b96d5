// SPDX-License-Identifier: Apache-2.0
#include "task.hpp"

#include <charconv>
#include <set>

#include "../split.hpp"

namespace probe {

namespace {

using bench::split;

template <typename Number>
Number parse(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0)
    throw UsageError("'" + text + "' is not a number");
  return value;
}

Round parse_round(const std::string& text, int ranks) {
  Round round;
  std::set<int> seen;
  for (const std::string& part : split(text, ',')) {
    const auto dash = part.find('-');
    if (dash == std::string::npos) throw UsageError("'" + part + "' is not a pair of ranks, as 0-1");
    const Pair pair{parse<int>(part.substr(0, dash)), parse<int>(part.substr(dash + 1))};
    for (const int rank : {pair.first, pair.second}) {
      if (rank >= ranks || !seen.insert(rank).second)
        throw UsageError("'" + text + "': rank " + std::to_string(rank) + " is twice in a round, or is none");
    }
    round.push_back(pair);
  }
  return round;
}

}  // namespace

Task::Task(const std::string& text) {
  const auto parts = split(text, ';');
  if (parts.empty()) throw UsageError("--do: no experiment is named");
  experiment_ = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    if (equals == std::string::npos) throw UsageError("--do " + text + ": '" + parts[i] + "' is not KEY=VALUE");
    values_[parts[i].substr(0, equals)] = parts[i].substr(equals + 1);
  }
}

std::int64_t Task::number(const std::string& key, std::int64_t otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : parse<std::int64_t>(found->second);
}

double Task::real(const std::string& key, double otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : parse<double>(found->second);
}

std::string Task::text(const std::string& key, const std::string& otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : found->second;
}

std::vector<std::int64_t> Task::numbers(const std::string& key, const std::string& otherwise) const {
  std::vector<std::int64_t> result;
  for (const std::string& part : split(text(key, otherwise), ',')) result.push_back(parse<std::int64_t>(part));
  return result;
}

std::vector<Round> Task::rounds(const std::string& key, int ranks) const {
  const std::string said = text(key, "all");
  if (said == "all") return all_pairs(ranks);
  std::vector<Round> result;
  for (const std::string& part : split(said, '/')) result.push_back(parse_round(part, ranks));
  return result;
}

std::vector<Round> all_pairs(int ranks) {
  const int seats = ranks + ranks % 2;  // with an odd number, one rank pauses in each round
  std::vector<Round> rounds;
  for (int turn = 0; turn + 1 < seats; ++turn) {
    Round round;
    for (int i = 0; i < seats / 2; ++i) {
      const int a = i == 0 ? seats - 1 : (turn + i) % (seats - 1);
      const int b = (turn + seats - 1 - i) % (seats - 1);
      if (a < ranks && b < ranks) round.push_back({std::min(a, b), std::max(a, b)});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace probe
