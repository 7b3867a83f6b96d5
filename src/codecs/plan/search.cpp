// SPDX-License-Identifier: Apache-2.0
#include "codecs/plan/search.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace antiphon::codec {

namespace {

constexpr std::size_t sample_bytes = 1024;
constexpr int max_samples = 8;
constexpr int near_lags = 64;

/// Places spread over the message at which candidates are tried.
class Samples {
 public:
  Samples(ConstBytes raw, std::size_t element_bytes, int wanted, std::size_t each_bytes) {
    const std::size_t whole = raw.size() / element_bytes * element_bytes;
    if (whole <= each_bytes * static_cast<std::size_t>(wanted)) {
      for (std::size_t at = 0; at < whole; at += each_bytes) add(at, std::min(each_bytes, whole - at));
      return;
    }
    const std::size_t step = (whole - each_bytes) / static_cast<std::size_t>(wanted);
    // Not from the very start, where there is nothing to take differences with.
    for (int i = 0; i < wanted; ++i) add((step * static_cast<std::size_t>(i) + step) / block_bytes * block_bytes, each_bytes);
  }
  double cost(const Spec& spec, ConstBytes raw, const References& references, const Kernel& kernel, Work& work) const {
    std::size_t bits = 0;
    for (int i = 0; i < count_; ++i) bits += kernel.cost(spec, u8_of(raw), references, at_[i], bytes_[i], work);
    return static_cast<double>(bits) / 8 * static_cast<double>(raw.size()) / static_cast<double>(std::max<std::size_t>(total_, 1));
  }
  int count() const { return count_; }

 private:
  void add(std::size_t at, std::size_t bytes) {
    at_[count_] = at;
    bytes_[count_++] = bytes;
    total_ += bytes;
  }
  std::array<std::size_t, max_samples + 1> at_{};
  std::array<std::size_t, max_samples + 1> bytes_{};
  int count_ = 0;
  std::size_t total_ = 0;
};

class Search {
 public:
  Search(ConstBytes raw, const Foresight& foresight, const Kernel& kernel, Work& work)
      : raw_(raw), foresight_(foresight), kernel_(kernel), work_(work) {}

  void try_element(int es_log2, Map map) {
    const std::size_t es = std::size_t{1} << es_log2;
    if (raw_.size() < 2 * es) return;
    const Samples few(raw_, es, 2, sample_bytes / 2);
    const Samples many(raw_, es, max_samples, sample_bytes);
    Spec spec;
    spec.es_log2 = static_cast<std::uint8_t>(es_log2);
    spec.map = map;
    spec.extrapolation = foresight_.extrapolation;
    consider(spec, many);
    std::array<std::pair<double, int>, near_lags> ranked;
    spec.order = 1;
    const int lags = static_cast<int>(std::min<std::size_t>(near_lags, raw_.size() / es - 1));
    for (int lag = 1; lag <= lags; ++lag) {
      spec.lag[0] = static_cast<std::uint16_t>(lag);
      ranked[static_cast<std::size_t>(lag - 1)] = {few.cost(spec, raw_, foresight_.messages, kernel_, work_), lag};
    }
    const int kept = std::min(lags, 4);
    std::partial_sort(ranked.begin(), ranked.begin() + kept, ranked.begin() + lags);
    for (int i = 0; i < kept; ++i) try_lag(spec, ranked[static_cast<std::size_t>(i)].second, ranked[0].second, many);
  }

  Found best() const { return best_; }

 private:
  void try_lag(Spec spec, int lag, int first, const Samples& samples) {
    spec.order = 1;
    spec.lag[0] = static_cast<std::uint16_t>(lag);
    consider(spec, samples);
    spec.order = 2;
    for (const int other : {lag, first}) {
      spec.lag[1] = static_cast<std::uint16_t>(other);
      consider(spec, samples);
      if (first == lag) break;
    }
  }
  void consider(const Spec& spec, const Samples& samples) {
    const double bytes = samples.cost(spec, raw_, foresight_.messages, kernel_, work_) + 16;
    if (best_.bytes == 0 || bytes < best_.bytes) best_ = {spec, bytes};
  }

  ConstBytes raw_;
  const Foresight& foresight_;
  const Kernel& kernel_;
  Work& work_;
  Found best_;
};

}  // namespace

Found search_spec(ConstBytes raw, Element element, const Foresight& foresight, const Kernel& kernel, Work& work) {
  Search search(raw, foresight, kernel, work);
  const bool any = element == Element::unknown || element == Element::i8;
  if (any || element == Element::f64 || element == Element::i64) {
    if (element != Element::i64) search.try_element(3, Map::ordered), search.try_element(3, Map::rotated);
    if (element != Element::f64) search.try_element(3, Map::plain);
  }
  if (any || element == Element::f32 || element == Element::i32) {
    if (element != Element::i32) search.try_element(2, Map::ordered), search.try_element(2, Map::rotated);
    if (element != Element::f32) search.try_element(2, Map::plain);
  }
  if (any || element == Element::i16) search.try_element(1, Map::plain);
  if (any) search.try_element(0, Map::plain);
  return search.best();
}

double expected_bytes(const Spec& spec, ConstBytes raw, const References& references, const Kernel& kernel, Work& work) {
  const Samples samples(raw, spec.element_bytes(), max_samples, sample_bytes);
  return samples.cost(spec, raw, references, kernel, work) + 16;
}

}  // namespace antiphon::codec
