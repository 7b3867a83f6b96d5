// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "antiphon/error.hpp"
#include "antiphon/fnv.hpp"
#include "antiphon/phases.hpp"

namespace antiphon {

namespace {

bool by_pair(const PatternMessage& a, const PatternMessage& b) {
  return a.from != b.from ? a.from < b.from : a.to < b.to;
}

bool same_pair(const PatternMessage& a, const PatternMessage& b) { return a.from == b.from && a.to == b.to; }

std::string text_of(const PatternMessage& m) { return std::to_string(m.from) + " → " + std::to_string(m.to); }

constexpr std::array<std::string_view, synchronisation_count> synchronisation_names{"none", "tokens", "grants",
                                                                                    "barrier", "lockstep"};

}  // namespace

Pattern Pattern::of_counts(int size, std::span<const std::int64_t> bytes) {
  const auto ranks = static_cast<std::size_t>(size);
  if (size < 1 || bytes.size() != ranks * ranks) throw InvalidArgument("a pattern needs ranks × ranks counts");
  Pattern pattern{size, {}};
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      const std::int64_t count = bytes[static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to)];
      if (count < 0) throw InvalidArgument("message " + text_of({from, to, 0}) + " has a negative size");
      if (count > 0 && from != to) pattern.messages.push_back({from, to, count});
    }
  }
  return pattern;
}

Pattern Pattern::of_messages(int size, std::vector<PatternMessage> messages) {
  for (const PatternMessage& m : messages) {
    if (m.from < 0 || m.from >= size || m.to < 0 || m.to >= size) {
      throw InvalidArgument("message " + text_of(m) + ": there are " + std::to_string(size) + " ranks");
    }
    if (m.bytes < 0) throw InvalidArgument("message " + text_of(m) + " has a negative size");
  }
  std::erase_if(messages, [](const PatternMessage& m) { return m.bytes == 0 || m.from == m.to; });
  std::vector<PatternMessage> sorted = messages;
  std::sort(sorted.begin(), sorted.end(), by_pair);
  const auto doubled = std::adjacent_find(sorted.begin(), sorted.end(), same_pair);
  if (doubled != sorted.end()) throw InvalidArgument("message " + text_of(*doubled) + " is there twice");
  return {size, std::move(messages)};
}

Problem Pattern::problem(int rank) const {
  Problem p;
  p.collective = Collective::alltoallv;
  p.rank = rank;
  p.size = size;
  const auto ranks = static_cast<std::size_t>(size);
  p.send_bytes.assign(ranks, 0);
  p.recv_bytes.assign(ranks, 0);
  for (const PatternMessage& m : messages) {
    if (m.from == rank) p.send_bytes[static_cast<std::size_t>(m.to)] = m.bytes;
    if (m.to == rank) p.recv_bytes[static_cast<std::size_t>(m.from)] = m.bytes;
  }
  const auto offsets_of = [](const std::vector<std::int64_t>& bytes) {
    std::vector<std::int64_t> offsets(bytes.size(), 0);
    for (std::size_t i = 1; i < bytes.size(); ++i) offsets[i] = offsets[i - 1] + bytes[i - 1];
    return offsets;
  };
  p.send_offsets = offsets_of(p.send_bytes);
  p.recv_offsets = offsets_of(p.recv_bytes);
  return p;
}

std::int64_t Pattern::total_bytes() const {
  std::int64_t sum = 0;
  for (const PatternMessage& m : messages) sum += m.bytes;
  return sum;
}

std::uint64_t Pattern::hash() const {
  std::vector<PatternMessage> sorted = messages;
  std::sort(sorted.begin(), sorted.end(), by_pair);
  Fnv hasher;
  hasher.add(size);
  for (const PatternMessage& m : sorted) {
    hasher.add(m.from);
    hasher.add(m.to);
    hasher.add(m.bytes);
  }
  return hasher.value();
}

Pattern Phases::pattern() const {
  std::vector<PatternMessage> parts;
  for (const PhaseOfParts& phase : phases) {
    for (const Part& part : phase.parts) parts.push_back({part.from, part.to, part.bytes});
  }
  std::sort(parts.begin(), parts.end(), by_pair);
  Pattern result{size, {}};
  for (const PatternMessage& part : parts) {
    if (!result.messages.empty() && same_pair(result.messages.back(), part)) {
      result.messages.back().bytes += part.bytes;
    } else {
      result.messages.push_back(part);
    }
  }
  return result;
}

std::string_view name(Synchronisation synchronisation) {
  return synchronisation_names[static_cast<std::size_t>(synchronisation)];
}

std::optional<Synchronisation> synchronisation_from_name(std::string_view name) {
  for (std::size_t i = 0; i < synchronisation_names.size(); ++i) {
    if (synchronisation_names[i] == name) return static_cast<Synchronisation>(i);
  }
  return std::nullopt;
}

const Scheduler* find_scheduler(std::string_view name) {
  for (const Scheduler* s : schedulers()) {
    if (s->name == name) return s;
  }
  return nullptr;
}

}  // namespace antiphon
