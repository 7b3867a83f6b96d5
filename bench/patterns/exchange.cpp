// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace bench {

namespace {

constexpr unsigned char untouched = 0x5A;

unsigned char expected_byte(int from, int to, std::int64_t i) {
  return static_cast<unsigned char>(from * 37 + to * 11 + i + i / 251);
}

std::vector<int> as_ints(const std::vector<std::int64_t>& values) {
  std::vector<int> ints;
  for (const std::int64_t value : values) {
    if (value > std::numeric_limits<int>::max())
      throw std::invalid_argument("a rank's messages exceed MPI's int counts");
    ints.push_back(static_cast<int>(value));
  }
  return ints;
}

std::size_t end_of(const std::vector<std::int64_t>& bytes, const std::vector<std::int64_t>& offsets) {
  return static_cast<std::size_t>(bytes.back() + offsets.back());
}

}  // namespace

Exchange::Exchange(const antiphon::Pattern& all, int rank)
    : pattern(all), problem(all.problem(rank)), send_counts(as_ints(problem.send_bytes)),
      send_offsets(as_ints(problem.send_offsets)), recv_counts(as_ints(problem.recv_bytes)),
      recv_offsets(as_ints(problem.recv_offsets)),
      // Never empty, because MPI needs a pointer.
      input(end_of(problem.send_bytes, problem.send_offsets) + 1),
      output(end_of(problem.recv_bytes, problem.recv_offsets) + 1) {
  for (int to = 0; to < problem.size; ++to) {
    const antiphon::Range block = problem.input_block(to);
    for (std::int64_t i = 0; i < block.bytes; ++i)
      input[static_cast<std::size_t>(block.offset_bytes + i)] = expected_byte(rank, to, i);
  }
}

void Exchange::prepare() { std::fill(output.begin(), output.end(), untouched); }

std::int64_t Exchange::wrong_bytes() const {
  std::int64_t wrong = output.back() == untouched ? 0 : 1;
  for (int from = 0; from < problem.size; ++from) {
    const antiphon::Range block = problem.output_block(from);
    for (std::int64_t i = 0; i < block.bytes; ++i) {
      wrong += output[static_cast<std::size_t>(block.offset_bytes + i)] != expected_byte(from, problem.rank, i);
    }
  }
  return wrong;
}

}  // namespace bench
