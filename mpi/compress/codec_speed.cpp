// SPDX-License-Identifier: Apache-2.0
#include "compress/codec_speed.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "antiphon/codec.hpp"
#include "job/clock.hpp"
#include "job/wait_asleep.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::size_t message_bytes = codec::default_piece_bytes;
/// The first rounds fill caches and make plans; a median of the others passes over the odd one.
constexpr int warm_up_rounds = 2, rounds = 7;
/// No more processor time than this, on a slow machine.
constexpr std::int64_t most_ns = 8'000'000;
/// So many nodes measure. More would say little more, and nodes that share a machine take their time from each other.
constexpr int most_measuring = 4;

/// A smooth field with noise in its last bits, so that neither predictions nor bit planes have an easy time.
std::vector<double> sample_values() {
  std::vector<double> values(message_bytes / sizeof(double));
  std::uint64_t noise = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    noise = noise * 6364136223846793005ULL + 1442695040888963407ULL;
    values[i] = std::sin(1e-3 * static_cast<double>(i)) + 1e-9 * static_cast<double>(noise >> 40);
  }
  return values;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

CodecSpeed measure_here() {
  const std::vector<double> values = sample_values();
  const auto raw = std::as_bytes(std::span(values));
  std::vector<std::byte> frame(codec::bound(raw.size())), back(raw.size());
  codec::LinkOptions options;
  options.history_bytes = 0;
  codec::Encoder encoder(options);
  std::vector<double> encoding, decoding;
  const std::int64_t begin_ns = processor_ns();
  for (int i = 0; i < warm_up_rounds + rounds; ++i) {
    const codec::Statistics before = encoder.statistics();
    const std::int64_t start_ns = processor_ns();
    const codec::Frame made = encoder.encode({0, raw.size(), 0}, raw, frame, codec::Element::f64);
    const std::int64_t encoded_ns = processor_ns();
    if (!made.in_place) static_cast<void>(codec::decode(std::span(frame).first(made.bytes), back));
    const std::int64_t end_ns = processor_ns();
    const bool planned = encoder.statistics().plans != before.plans;
    const bool late = end_ns - begin_ns > most_ns;
    if ((i >= warm_up_rounds && !planned) || late) {
      encoding.push_back(static_cast<double>(encoded_ns - start_ns) / message_bytes);
      decoding.push_back(static_cast<double>(end_ns - encoded_ns) / message_bytes);
    }
    if (late) break;
  }
  if (encoding.empty()) return usual_codec_speed;
  return {median(encoding), median(decoding)};
}

/// Tells whether this rank measures: the lowest one of every so many-th node.
bool measures(const std::vector<int>& node_of_rank, int rank) {
  std::vector<int> leaders;
  for (std::size_t r = 0; r < node_of_rank.size(); ++r) {
    if (node_of_rank[r] == static_cast<int>(r)) leaders.push_back(static_cast<int>(r));
  }
  const auto count = std::min<std::size_t>(leaders.size(), most_measuring);
  for (std::size_t i = 0; i < count; ++i) {
    if (leaders[i * leaders.size() / count] == rank) return true;
  }
  return false;
}

}  // namespace

CodecSpeed measure_codecs(const std::vector<int>& node_of_rank) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const CodecSpeed own = measures(node_of_rank, rank) ? measure_here() : CodecSpeed{};
  const std::array<double, 2> mine{own.encode_ns_per_byte, own.decode_ns_per_byte};
  std::array<double, 2> slowest{};
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Iallreduce(mine.data(), slowest.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  wait_asleep(request);
  return {slowest[0], slowest[1]};
}

}  // namespace antiphon::mpi
