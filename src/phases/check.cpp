// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "antiphon/phases.hpp"
#include "antiphon/verify.hpp"
#include "phases/ports.hpp"

namespace antiphon {

namespace {

using Pair = std::pair<int, int>;

std::string text_of(const Pair& pair) { return std::to_string(pair.first) + " → " + std::to_string(pair.second); }

/// Checks that the parts of each message are exactly its bytes.
std::optional<std::string> check_bytes(const Phases& phases, const Pattern& pattern) {
  std::map<Pair, std::int64_t> wanted;
  for (const PatternMessage& m : pattern.messages) wanted[{m.from, m.to}] = m.bytes;
  std::map<Pair, std::vector<std::pair<std::int64_t, std::int64_t>>> found;
  for (const PhaseOfParts& phase : phases.phases) {
    for (const Part& part : phase.parts) {
      if (part.bytes <= 0) return "an empty part " + text_of({part.from, part.to});
      found[{part.from, part.to}].emplace_back(part.offset_bytes, part.bytes);
    }
  }
  for (auto& [pair, parts] : found) {
    if (wanted.count(pair) == 0) return "a part " + text_of(pair) + " of no message";
    std::sort(parts.begin(), parts.end());
    std::int64_t end = 0;
    for (const auto& [offset, bytes] : parts) {
      if (offset != end)
        return "the parts of " + text_of(pair) + " have a gap or overlap at byte " + std::to_string(end);
      end = offset + bytes;
    }
    if (end != wanted[pair])
      return "the parts of " + text_of(pair) + " have " + std::to_string(end) + " bytes of " +
             std::to_string(wanted[pair]);
  }
  if (found.size() != wanted.size()) return "messages are missing";
  return std::nullopt;
}

std::optional<std::string> check_phase(const PhaseOfParts& phase, std::size_t index, const Ports& ports) {
  if (phase.together) return std::nullopt;
  std::set<int> out, in;
  std::map<int, int> up, down;
  const std::string where = "phase " + std::to_string(index) + ": ";
  for (const Part& part : phase.parts) {
    const Ports::Use use = ports.of(part.from, part.to);
    if (use.out < 0) return where + text_of({part.from, part.to}) + " stays within a node";
    if (!out.insert(use.out).second) return where + "node " + std::to_string(use.out) + " sends twice";
    if (!in.insert(use.in).second) return where + "node " + std::to_string(use.in) + " receives twice";
  }
  return std::nullopt;
}

std::byte expected_byte(int from, int to, std::int64_t i) {
  return static_cast<std::byte>(from * 29 + to * 11 + i * 7 + i / 253);
}

constexpr std::byte untouched{0x5A};

}  // namespace

std::optional<std::string> check_phases(const Phases& phases, const Pattern& pattern, const Fabric& fabric) {
  if (phases.size != pattern.size) return "the phases are for " + std::to_string(phases.size) + " ranks";
  if (auto wrong = check_bytes(phases, pattern)) return wrong;
  const Ports ports(fabric, pattern.size);
  for (std::size_t i = 0; i < phases.phases.size(); ++i) {
    if (auto wrong = check_phase(phases.phases[i], i, ports)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> verify_phases(const CompiledPattern& compiled, std::uint64_t seed) {
  const Pattern pattern = compiled.phases.pattern();
  std::vector<Problem> problems;
  std::vector<Schedule> schedules;
  std::vector<std::vector<std::byte>> inputs, outputs;
  for (int rank = 0; rank < pattern.size; ++rank) {
    const Problem p = pattern.problem(rank);
    const Range last_in = p.input_block(p.size - 1);
    const Range last_out = p.output_block(p.size - 1);
    inputs.emplace_back(static_cast<std::size_t>(last_in.offset_bytes + last_in.bytes));
    outputs.emplace_back(static_cast<std::size_t>(last_out.offset_bytes + last_out.bytes), untouched);
    for (int to = 0; to < p.size; ++to) {
      const Range block = p.input_block(to);
      for (std::int64_t i = 0; i < block.bytes; ++i)
        inputs.back()[static_cast<std::size_t>(block.offset_bytes + i)] = expected_byte(rank, to, i);
    }
    schedules.push_back(schedule_of(compiled, p));
    problems.push_back(p);
  }
  std::vector<Memory> memories;
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    memories.push_back({inputs[r].data(), static_cast<std::int64_t>(inputs[r].size()), outputs[r].data(),
                        static_cast<std::int64_t>(outputs[r].size())});
  }
  if (auto wrong = run_in_process(schedules, memories, nullptr, seed)) return wrong;
  for (const Problem& p : problems) {
    for (int from = 0; from < p.size; ++from) {
      const Range block = p.output_block(from);
      for (std::int64_t i = 0; i < block.bytes; ++i) {
        if (outputs[static_cast<std::size_t>(p.rank)][static_cast<std::size_t>(block.offset_bytes + i)] !=
            expected_byte(from, p.rank, i)) {
          return "rank " + std::to_string(p.rank) + " has wrong data from rank " + std::to_string(from) + " at byte " +
                 std::to_string(i);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace antiphon
