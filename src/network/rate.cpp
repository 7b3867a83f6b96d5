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

constexpr std::int64_t first_train_bytes = 32 << 10;
constexpr std::int64_t train_unit_bytes = static_cast<std::int64_t>(RateSeries::pieces) * 1024;
/// Of a train's pieces, the first one that counts lies in the first range, the last one in the second.
constexpr std::size_t first_from = 5, first_to = 8, last_from = 12;
/// A train says something if it is known this well when its pieces came.
constexpr double most_doubt = 0.15, agreement = 0.1;
/// So many bytes are enough if the series' end agrees; after so many it ends as it is.
constexpr std::int64_t enough_bytes = 4 << 20, most_bytes = 8 << 20;
constexpr double much_slower = 0.5;

/// So many times those send of which some are new, because TCP starts slowly. Each sends for about this long. Links
/// that are slower than these connections take too long, and are not of clouds.
constexpr int turns_of_new = 2;
constexpr double port_train_s = 1e-3;
constexpr std::int64_t most_port_train_bytes = 512 << 10;
constexpr double least_connection_bytes_per_s = 1.5e6;
constexpr double clearly_more = 1.6, nearly_all = 0.6;

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

namespace {

/// Returns the rate between the two pieces whose times are known best; 0 where none is known well.
double rate_of(std::int64_t train_bytes, const RateSeries::Arrivals& arrivals) {
  double rate = 0;
  double least_doubt = most_doubt;
  for (std::size_t first = first_from; first <= first_to; ++first) {
    for (std::size_t last = last_from; last < RateSeries::pieces; ++last) {
      const Arrival &a = arrivals[first], &b = arrivals[last];
      const double seconds = (b.seen_s + b.not_before_s - a.seen_s - a.not_before_s) / 2;
      const double unsure_s = (b.seen_s - b.not_before_s + a.seen_s - a.not_before_s) / 2;
      if (!(seconds > 0) || unsure_s / seconds > least_doubt) continue;
      least_doubt = unsure_s / seconds;
      rate = static_cast<double>(train_bytes) / RateSeries::pieces * static_cast<double>(last - first) / seconds;
    }
  }
  return rate;
}

}  // namespace

bool RateSeries::last_two_agree() const {
  if (rates_.size() < 2) return false;
  const double last = rates_.back();
  const double before = rates_[rates_.size() - 2];
  return std::abs(last - before) <= agreement * std::max(last, before);
}

std::int64_t RateSeries::next_bytes() const {
  if (last_bytes_ == 0) return first_train_bytes;
  const bool agree = last_two_agree() && (elapsed_s_ >= patience_.enough_s || sent_bytes_ >= enough_bytes);
  if (agree || elapsed_s_ >= patience_.most_s || sent_bytes_ >= most_bytes) return 0;
  const auto longest = static_cast<double>(std::min(2 * last_bytes_, most_train_bytes));
  const double wanted = rates_.empty() ? longest : rates_.back() * patience_.train_s;
  const auto bytes = static_cast<std::int64_t>(std::clamp(wanted, static_cast<double>(first_train_bytes), longest));
  return bytes / train_unit_bytes * train_unit_bytes;
}

void RateSeries::add(std::int64_t train_bytes, const Arrivals& arrivals, double whole_s) {
  last_bytes_ = train_bytes;
  if (const double rate = rate_of(train_bytes, arrivals); rate > 0) rates_.push_back(rate);
  sent_bytes_ += train_bytes;
  ++trains_;
  elapsed_s_ += whole_s;
}

double RateSeries::bytes_per_s() const {
  if (rates_.empty()) return 0;
  return last_two_agree() ? (rates_.back() + rates_[rates_.size() - 2]) / 2 : rates_.back();
}

PortSeries::Senders PortSeries::next() const {
  if (connection_ < least_connection_bytes_per_s || others_ < least_senders) return {};
  const int few = std::min(few_senders, others_);
  if (std::ssize(alone_) < few) return {static_cast<int>(alone_.size()), 1};
  if (senders_ == 0) return {0, few};
  if (senders_ > few && turns_ < turns_of_new) return {0, senders_};
  // A port that they do not fill may carry more.
  const int more = std::min(others_, senders_ < some_senders ? some_senders : most_senders);
  return {0, more > senders_ && most_ >= nearly_all * senders_ * connection_ ? more : 0};
}

std::int64_t PortSeries::bytes_of_each() const {
  const auto bytes = static_cast<std::int64_t>(connection_ * port_train_s);
  return std::clamp(bytes, first_train_bytes, most_port_train_bytes) / train_unit_bytes * train_unit_bytes;
}

void PortSeries::add(int count, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(count * bytes_of_each()) / seconds : 0;
  if (count == 1) {
    alone_.push_back(rate);
    connection_ = median(alone_);
    return;
  }
  if (count != senders_) turns_ = 0;
  senders_ = count;
  ++turns_;
  most_ = std::max(most_, rate);
}

bool carries_clearly_more(double together_bytes_per_s, double one_bytes_per_s) {
  return one_bytes_per_s > 0 && together_bytes_per_s >= clearly_more * one_bytes_per_s;
}

double PortSeries::bytes_per_s() const { return carries_clearly_more(most_, connection_) ? most_ : 0; }

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

bool one_seems_slow(std::vector<double> bytes_per_s) {
  std::erase(bytes_per_s, 0.0);
  return !bytes_per_s.empty() && rate_for_all(bytes_per_s) < much_slower * median(bytes_per_s);
}

double rate_for_all(std::vector<double> bytes_per_s) {
  std::erase(bytes_per_s, 0.0);
  if (bytes_per_s.empty()) return 0;
  const double least = *std::min_element(bytes_per_s.begin(), bytes_per_s.end());
  const double usual = median(std::move(bytes_per_s));
  return least < much_slower * usual ? least : usual;
}

}  // namespace antiphon::network
