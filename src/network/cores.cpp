// SPDX-License-Identifier: Apache-2.0
#include "network/cores.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <climits>
#include <iterator>

namespace antiphon::network {

namespace {

constexpr std::size_t bits_of_word = 64;
constexpr std::size_t most_cores = 1 << 16;
constexpr int hexadecimal = 16;

}  // namespace

Cores::Cores(int count) {
  for (std::size_t left = static_cast<std::size_t>(std::max(count, 0)); left > 0;) {
    const std::size_t bits = std::min(left, bits_of_word);
    mask_.push_back(~std::uint64_t{0} >> (bits_of_word - bits));
    left -= bits;
  }
}

Cores Cores::of_this_process() {
  Cores own;
  // The system refuses masks that are shorter than its own.
  for (std::size_t cores = CPU_SETSIZE; cores <= most_cores; cores *= 2) {
    own.mask_.assign(cores / bits_of_word, 0);
    if (sched_getaffinity(0, cores / CHAR_BIT, reinterpret_cast<cpu_set_t*>(own.mask_.data())) == 0) break;
  }
  while (!own.mask_.empty() && own.mask_.back() == 0) own.mask_.pop_back();
  return own.mask_.empty() ? Cores(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))) : own;
}

void Cores::add(const Cores& other) {
  mask_.resize(std::max(mask_.size(), other.mask_.size()));
  for (std::size_t i = 0; i < other.mask_.size(); ++i) mask_[i] |= other.mask_[i];
}

int Cores::count() const {
  int count = 0;
  for (const std::uint64_t word : mask_) count += std::popcount(word);
  return count;
}

std::string Cores::text() const {
  std::string text;
  for (const std::uint64_t word : mask_) {
    char digits[bits_of_word / 4];
    const char* const end = std::to_chars(std::begin(digits), std::end(digits), word, hexadecimal).ptr;
    text.append(digits, static_cast<std::size_t>(end - digits)).append(",");
  }
  return text;
}

Cores Cores::parse(std::string_view text) {
  Cores cores;
  for (std::size_t begin = 0, end = 0; (end = text.find(',', begin)) != text.npos; begin = end + 1)
    std::from_chars(text.data() + begin, text.data() + end, cores.mask_.emplace_back(), hexadecimal);
  return cores;
}

}  // namespace antiphon::network
