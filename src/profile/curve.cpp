// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/profile.hpp"

namespace antiphon {

namespace {

double on_line(const Curve::Point& a, const Curve::Point& b, std::int64_t bytes) {
  const double share = static_cast<double>(bytes - a.bytes) / static_cast<double>(b.bytes - a.bytes);
  return a.seconds + share * (b.seconds - a.seconds);
}

}  // namespace

Curve Curve::line(double base_s, double bytes_per_s) {
  constexpr std::int64_t far = 1 << 20;
  return Curve({{0, base_s}, {far, base_s + static_cast<double>(far) / bytes_per_s}});
}

Curve Curve::at_most(double bytes_per_s) const {
  Curve slower = *this;
  for (Point& p : slower.points_)
    p.seconds = std::max(p.seconds, points_.front().seconds + static_cast<double>(p.bytes) / bytes_per_s);
  return slower;
}

double Curve::at(std::int64_t bytes) const {
  if (points_.empty()) return 0;
  if (bytes <= points_.front().bytes) return points_.front().seconds;
  // This is the first point at or beyond the size: of two points at a jump the first, which still belongs to the line
  // before it.
  const auto after = std::lower_bound(points_.begin(), points_.end(), bytes,
                                      [](const Point& p, std::int64_t size) { return p.bytes < size; });
  if (after != points_.end()) return on_line(*(after - 1), *after, bytes);
  const Point& last = points_.back();
  if (points_.size() < 2 || points_[points_.size() - 2].bytes == last.bytes) return last.seconds;
  return std::max(on_line(points_[points_.size() - 2], last, bytes), last.seconds);
}

}  // namespace antiphon
