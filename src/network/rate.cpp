// SPDX-License-Identifier: Apache-2.0
#include "network/rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "antiphon/ethernet.hpp"

namespace antiphon::network {

namespace {

constexpr std::array ethernet_mbit{10,     100,    1000,   2500,    5000,    10'000,
                                   25'000, 40'000, 50'000, 100'000, 200'000, 400'000};
constexpr double like_ethernet = 0.15;
/// More than memory can do, and less than a modem's: the clock or the library misled us.
constexpr double most_bits_per_s = 2e12, least_bits_per_s = 1e4;

constexpr std::int64_t first_train_bytes = 16 << 10;
constexpr std::int64_t piece_unit_bytes = RateSeries::pieces * 1024;
constexpr double agreement = 0.1;
/// A train of this length is long beside a turn of a busy core; so long a series is enough if its end agrees.
constexpr double train_s = 10e-3, enough_s = 6e-3;
/// After so long, or so much, it ends as it is: MPI_Init waits for it.
constexpr double most_s = 25e-3;
constexpr std::int64_t enough_bytes = 4 << 20, most_bytes = 8 << 20;
/// Ratios of measurements of links that are alike, and of those that are not.
constexpr double alike = 0.8, much_slower = 0.67;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::int64_t rate_of_payload(double payload_bytes_per_s) {
  const double bits = 8 * payload_bytes_per_s / ethernet::payload_share;
  if (!(bits >= least_bits_per_s && bits <= most_bits_per_s)) return 0;
  for (const int mbit : ethernet_mbit) {
    const double rate = mbit * 1e6;
    if (std::abs(bits - rate) <= like_ethernet * rate) return static_cast<std::int64_t>(rate);
  }
  const double digit = std::pow(10, std::floor(std::log10(bits)) - 1);
  return static_cast<std::int64_t>(std::round(bits / digit) * digit);
}

double RateSeries::rate_of(const Train& train) {
  const double counted_bytes = static_cast<double>(train.bytes) * (pieces - skipped_pieces) / pieces;
  return counted_bytes / std::max(train.counted_s, 1e-9);
}

bool RateSeries::last_two_agree() const {
  if (trains_.size() < 2) return false;
  const double last = rate_of(trains_.back());
  const double before = rate_of(trains_[trains_.size() - 2]);
  return std::abs(last - before) <= agreement * std::max(last, before);
}

std::int64_t RateSeries::next_bytes() const {
  if (trains_.empty()) return first_train_bytes;
  const bool agree = last_two_agree() && (elapsed_s_ >= enough_s || sent_bytes_ >= enough_bytes);
  if (agree || elapsed_s_ >= most_s || sent_bytes_ >= most_bytes) return 0;
  const double wanted = rate_of(trains_.back()) * train_s;
  const double longest = static_cast<double>(std::min(2 * trains_.back().bytes, most_train_bytes));
  const auto bytes = static_cast<std::int64_t>(std::clamp(wanted, static_cast<double>(first_train_bytes), longest));
  return bytes / piece_unit_bytes * piece_unit_bytes;
}

void RateSeries::add(std::int64_t train_bytes, double counted_s, double whole_s) {
  trains_.push_back({train_bytes, counted_s});
  sent_bytes_ += train_bytes;
  elapsed_s_ += whole_s;
}

double RateSeries::bytes_per_s() const {
  if (trains_.empty()) return 0;
  const Train& last = trains_.back();
  if (!last_two_agree()) return rate_of(last);
  const Train& before = trains_[trains_.size() - 2];
  return rate_of({last.bytes + before.bytes, last.counted_s + before.counted_s});
}

std::vector<std::pair<int, int>> pairs_to_measure(int nodes, int most_pairs) {
  std::vector<std::pair<int, int>> pairs;
  const int all = nodes / 2;
  const int count = std::min(all, most_pairs);
  for (int i = 0; i < count; ++i) {
    const auto first = static_cast<int>(2 * (static_cast<std::int64_t>(i) * all / count));
    pairs.emplace_back(first, first + 1);
  }
  return pairs;
}

bool is_spread(std::span<const double> bytes_per_s) {
  const auto [least, most] = std::minmax_element(bytes_per_s.begin(), bytes_per_s.end());
  return least != bytes_per_s.end() && *least < alike * *most;
}

double rate_for_all(std::vector<double> bytes_per_s) {
  if (bytes_per_s.empty()) return 0;
  const double least = *std::min_element(bytes_per_s.begin(), bytes_per_s.end());
  const double usual = median(std::move(bytes_per_s));
  return least < much_slower * usual ? least : usual;
}

}  // namespace antiphon::network
