// SPDX-License-Identifier: Apache-2.0
#include "codecs/search/spec_search.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace antiphon::codec {

namespace {

constexpr std::size_t near_lags = 64;
constexpr std::size_t refined_lags = 4;
constexpr std::size_t max_row = 2048, max_rows_tried = 32, refined_rows = 3;
constexpr std::size_t refined_families = 2;
constexpr double worthwhile =
    0.99;  // grouping by fields costs one more pass over the data, so it must gain at least this much
constexpr double fixed_bytes = 8;  // size of the body without the planes

struct Grain {
  int places;
  std::size_t bytes;
};
constexpr Grain glance{2, 512};
constexpr Grain look{16, 1024};
constexpr Grain broad{6, chunk_bytes};  // large enough for whole groups of records

/// Pieces spread over the message, on which candidates are tried.
class Samples {
 public:
  Samples(ConstBytes raw, std::size_t element_bytes, Grain grain) : raw_(raw) {
    const std::size_t whole = raw.size() / element_bytes * element_bytes;
    const auto wanted = static_cast<std::size_t>(grain.places);
    if (whole <= grain.bytes * wanted) {
      for (std::size_t at = 0; at < whole; at += grain.bytes) add(at, std::min(grain.bytes, whole - at));
      return;
    }
    // Each equal part gives one piece at a random offset: pieces at equal distances could be in step with a grid's
    // rows.
    const std::size_t step = (whole - grain.bytes) / wanted;
    std::uint32_t place = 0x9e3779b9;
    for (std::size_t i = 0; i < wanted; ++i, place = place * 1664525 + 1013904223) {
      add((step * i + static_cast<std::size_t>(std::uint64_t{place} * step >> 32)) / block_bytes * block_bytes,
          grain.bytes);
    }
  }
  double cost(const Spec& spec, const References& references, const Kernel& kernel, Work& work) const {
    std::size_t bits = 0;
    for (int i = 0; i < count_; ++i) bits += kernel.cost(spec, u8_of(raw_), references, at_[i], bytes_[i], work);
    const double scale = static_cast<double>(raw_.size()) / static_cast<double>(std::max<std::size_t>(total_, 1));
    return static_cast<double>(bits) / 8 * scale + fixed_bytes;
  }

 private:
  void add(std::size_t at, std::size_t bytes) {
    at_[count_] = at;
    bytes_[count_++] = bytes;
    total_ += bytes;
  }
  ConstBytes raw_;
  std::array<std::size_t, look.places + 1> at_{};
  std::array<std::size_t, look.places + 1> bytes_{};
  int count_ = 0;
  std::size_t total_ = 0;
};

/// One element size and map, with the lags that look best for it.
struct Family {
  int es_log2;
  Map map;
  double cost = 0;
  std::array<std::uint16_t, refined_lags> lags{};
};

/// Maps one value as the kernels do.
std::uint64_t mapped(std::uint64_t x, int bits, Map map) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
  const bool top = (x >> (bits - 1) & 1) != 0;
  if (map == Map::ordered) return top ? x ^ all >> 1 : x;
  if (map == Map::rotated) return (x << 1 & all) | (top ? 1 : 0);
  return x;
}

/// Returns the least mapped value among a few hundred that are spread over the message.
std::uint64_t least_value(ConstBytes raw, const Spec& spec) {
  constexpr std::size_t looked_at = 256;
  const std::size_t values = raw.size() >> spec.es_log2;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t i = 0; i < looked_at; ++i) {
    std::uint64_t x = 0;
    std::memcpy(&x, raw.data() + (values * i / looked_at << spec.es_log2), spec.element_bytes());
    least = std::min(least, mapped(x, 8 << spec.es_log2, spec.map));
  }
  return least;
}

class Search {
 public:
  Search(ConstBytes raw, const Prediction& prediction, const Kernel& kernel, Work& work)
      : raw_(raw), prediction_(prediction), kernel_(kernel), work_(work) {}

  Spec spec_of(const Family& family) const {
    Spec spec;
    spec.es_log2 = static_cast<std::uint8_t>(family.es_log2);
    spec.map = family.map;
    spec.extrapolation = prediction_.extrapolation;
    return spec;
  }

  bool fits(const Family& family) const { return raw_.size() >> family.es_log2 >= 2; }

  /// Estimates all short lags from small samples and keeps the best.
  void rank(Family& family) {
    const Samples samples(raw_, std::size_t{1} << family.es_log2, glance);
    Spec spec = spec_of(family);
    family.cost = cost(spec, samples);
    spec.order = 1;
    const std::size_t lags = std::min(near_lags, (raw_.size() >> family.es_log2) - 1);
    std::array<std::pair<double, std::uint16_t>, near_lags> ranked;
    for (std::size_t i = 0; i < lags; ++i) {
      spec.lag[0] = static_cast<std::uint16_t>(i + 1);
      ranked[i] = {cost(spec, samples), spec.lag[0]};
    }
    const std::size_t kept = std::min(lags, refined_lags);
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept),
                      ranked.begin() + static_cast<std::ptrdiff_t>(lags));
    for (std::size_t i = 0; i < kept; ++i) family.lags[i] = ranked[i].second;
    family.cost = std::min(family.cost, ranked[0].first);
  }

  /// Tries orders 0 to 2 with the family's lags on larger samples.
  void refine(const Family& family) {
    const Samples samples(raw_, std::size_t{1} << family.es_log2, look);
    Spec spec = spec_of(family);
    consider(spec, samples);
    try_base(spec, samples);
    Found once;
    for (const std::uint16_t lag : family.lags) {
      if (lag == 0) continue;
      spec.order = 1;
      spec.lag[0] = lag;
      const double bytes = consider(spec, samples);
      if (once.bytes == 0 || bytes < once.bytes) once = {spec, bytes};
    }
    if (once.bytes == 0) return;
    spec = once.spec;
    spec.order = 2;
    for (const std::uint16_t lag : family.lags) {
      if (lag == 0) continue;
      spec.lag[1] = lag;
      consider(spec, samples);
    }
  }

  /// Tries lags as long as a row, for messages that are whole rows of a grid: alone and with the best short lag.
  void try_rows(const Family& family, std::size_t message_bytes) {
    const std::size_t values = message_bytes >> family.es_log2;
    const Samples few(raw_, std::size_t{1} << family.es_log2, glance);
    std::vector<std::pair<double, Spec>> found;
    for (std::size_t rows = 2; rows <= values / (near_lags + 1); ++rows) {
      const std::size_t row = values / rows;
      if (row * rows != values || row > max_row || row >= raw_.size() >> family.es_log2) continue;
      Spec spec = spec_of(family);
      spec.order = 1;
      spec.lag[0] = static_cast<std::uint16_t>(row);
      found.emplace_back(cost(spec, few), spec);
      spec.order = 2;
      spec.lag[1] = spec.lag[0];
      spec.lag[0] = family.lags[0];
      if (spec.lag[0] != 0) found.emplace_back(cost(spec, few), spec);
      if (found.size() > max_rows_tried) break;
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const Samples samples(raw_, std::size_t{1} << family.es_log2, look);
    for (std::size_t i = 0; i < found.size() && i < refined_rows; ++i) consider(found[i].second, samples);
  }

  /// Tries, for records as long as one of these lags, whether blocks that hold one field each are smaller.
  void try_records(std::initializer_list<std::uint16_t> records) {
    if (best_.bytes == 0 || best_.spec.record > 1) return;
    const Samples samples(raw_, best_.spec.element_bytes(), broad);
    const double before = cost(best_.spec, samples);
    Found grouped{best_.spec, worthwhile * before};
    for (const std::uint16_t record : records) {
      Spec spec = best_.spec;
      spec.record = record;
      if (record < 2 || record > max_record || block_bytes * record > raw_.size()) continue;
      const double bytes = cost(spec, samples);
      if (bytes < grouped.bytes) grouped = {spec, bytes};
    }
    if (grouped.spec.record > 1) best_ = {grouped.spec, best_.bytes * grouped.bytes / before};
  }

  Found best() const { return best_; }

 private:
  /// Tries to subtract a base that no value is below, for values in no order.
  void try_base(Spec spec, const Samples& samples) {
    if (spec.folds()) return;
    spec.base = least_value(raw_, spec);
    spec.based = spec.base != 0;
    if (spec.based) consider(spec, samples);
  }
  double cost(const Spec& spec, const Samples& samples) {
    return samples.cost(spec, prediction_.messages, kernel_, work_);
  }
  double consider(const Spec& spec, const Samples& samples) {
    const double bytes = cost(spec, samples);
    if (best_.bytes == 0 || bytes < best_.bytes) best_ = {spec, bytes};
    return bytes;
  }

  ConstBytes raw_;
  const Prediction& prediction_;
  const Kernel& kernel_;
  Work& work_;
  Found best_;
};

std::vector<Family> families_of(Element element) {
  const bool any = element == Element::unknown || element == Element::i8;
  std::vector<Family> all;
  if (any || element == Element::f64) all.insert(all.end(), {{3, Map::ordered}, {3, Map::rotated}});
  if (any || element == Element::i64) all.push_back({3, Map::plain});
  if (any || element == Element::f32) all.insert(all.end(), {{2, Map::ordered}, {2, Map::rotated}});
  if (any || element == Element::i32) all.push_back({2, Map::plain});
  if (any || element == Element::i16) all.push_back({1, Map::plain});
  if (any) all.push_back({0, Map::plain});
  return all;
}

}  // namespace

Found search_spec(ConstBytes raw, const Options& options, const Prediction& prediction, const Kernel& kernel,
                  Work& work) {
  Search search(raw, prediction, kernel, work);
  std::vector<Family> families = families_of(options.element);
  std::erase_if(families, [&](const Family& f) { return !search.fits(f); });
  for (Family& family : families) search.rank(family);
  std::stable_sort(families.begin(), families.end(), [](const Family& a, const Family& b) { return a.cost < b.cost; });
  for (std::size_t i = 0; i < families.size() && i < refined_families; ++i) search.refine(families[i]);
  if (!families.empty()) search.try_rows(families[0], options.message_bytes == 0 ? raw.size() : options.message_bytes);
  const Spec found = search.best().spec;
  const auto& lags = families.empty() ? std::array<std::uint16_t, refined_lags>{} : families[0].lags;
  search.try_records({found.lag[0], found.lag[1], lags[0], lags[1]});
  return search.best();
}

Found search_near(const Spec& like, ConstBytes raw, const Prediction& prediction, const Kernel& kernel, Work& work) {
  Search search(raw, prediction, kernel, work);
  const std::size_t values = raw.size() >> like.es_log2;
  Family family{like.es_log2, like.map};
  if (!search.fits(family)) return {};
  std::array<std::uint16_t, 3> lags{like.lag[0], like.order == 2 ? like.lag[1] : std::uint16_t{0}, 1};
  for (std::size_t i = 0; i < lags.size(); ++i) {
    const bool seen = std::find(lags.begin(), lags.begin() + static_cast<std::ptrdiff_t>(i), lags[i]) !=
                      lags.begin() + static_cast<std::ptrdiff_t>(i);
    if (!seen && lags[i] < values) family.lags[i] = lags[i];
  }
  search.refine(family);
  if (family.map != Map::plain) {
    family.map = family.map == Map::ordered ? Map::rotated : Map::ordered;
    search.refine(family);
  }
  search.try_records({like.record, like.lag[0], like.lag[1]});
  return search.best();
}

double expected_bytes(const Spec& spec, ConstBytes raw, const References& references, const Kernel& kernel, Work& work,
                      bool few) {
  Grain grain = few ? glance : look;
  const std::size_t group = block_bytes * spec.record;
  if (spec.record > 1 && group > grain.bytes)
    grain = {std::max(1, static_cast<int>(static_cast<std::size_t>(grain.places) * grain.bytes / group)), group};
  return Samples(raw, spec.element_bytes(), grain).cost(spec, references, kernel, work);
}

}  // namespace antiphon::codec
