// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/digits.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "antiphon/index.hpp"
#include "mapping/search/thread_time.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping {

namespace {

/// The number of edges that are counted while climbing.
constexpr std::size_t enough_edges = 30'000;
/// A stride counts if it carries at least this share of the traffic.
constexpr double enough_share = 0.01;

std::vector<int> primes_of(int n) {
  std::vector<int> primes;
  for (int p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

/// The position of index `i` of `n` on a folded ring: the second half runs backwards, and so on within the halves.
int folded_index(int i, int n) {
  const int half = n / 2;
  if (n < 2) return i;
  return i < half ? folded_index(i, half) : n - 1 - folded_index(i - half, n - half);
}

}  // namespace

Digits::Digits(const Model& model, const Domains& domains) : model_(model) {
  fills_.push_back(domains.order());
  if (model.pinned()) {
    const Assignment block = block_assignment(model.task());
    std::vector<char> taken(at(model.slots()));
    pinned_.assign(at(model.ranks()), -1);
    for (int r = 0; r < model.ranks(); ++r) {
      if (model.task().pin_of(r) == nullptr) continue;
      pinned_[at(r)] = block.slot_of_rank[at(r)];
      taken[at(pinned_[at(r)])] = 1;
    }
    std::erase_if(fills_[0], [&](int slot) { return taken[at(slot)] != 0; });
  } else {
    add_rows(domains.grid());
    fold(domains.grid());
  }
  // From the longest stride to the shortest, what lies between two neighbouring ones is a dimension.
  const std::vector<int> bounds = strides();
  int dimension = 0;
  for (std::size_t i = bounds.size(); i-- > 1; ++dimension) {
    for (const int p : primes_of(bounds[i] / bounds[i - 1])) {
      radix_.push_back(p);
      dimension_.push_back(dimension);
    }
  }
  read_digits();
  // The step is odd, so that the counted ranks differ in all digits.
  step_ = static_cast<int>(std::min<std::size_t>(model.edges() / enough_edges, at(model.ranks()) / 64)) | 1;
}

void Digits::read_digits() {
  int stride = 1;
  digit_.assign(radix_.size(), {});
  for (std::size_t d = radix_.size(); d-- > 0;) {
    for (int r = 0; r < model_.ranks(); ++r) digit_[d].push_back(r / stride % radix_[d]);
    stride *= radix_[d];
  }
}

bool Digits::turn() {
  const std::vector<int> before = radix_;
  for (std::size_t first = 0, d = 0; d < radix_.size(); first = d) {
    while (d < radix_.size() && dimension_[d] == dimension_[first]) ++d;
    std::reverse(radix_.begin() + static_cast<std::ptrdiff_t>(first), radix_.begin() + static_cast<std::ptrdiff_t>(d));
  }
  if (radix_ == before) return false;
  read_digits();
  return true;
}

/// Adds fills node by node, with each axis as one digit, because an axis of 5 cannot be halved.
void Digits::add_rows(const std::vector<int>& grid) {
  by_rows_ = std::any_of(grid.begin(), grid.end(), [](int length) { return (length & (length - 1)) != 0; });
  if (!by_rows_) return;
  fills_.emplace_back(at(model_.slots()));
  std::iota(fills_.back().begin(), fills_.back().end(), 0);
}

/// Adds a fill for every choice of folded axes that are long enough, if all nodes of the torus have the same size.
void Digits::fold(const std::vector<int>& grid) {
  for (int n = 0; n < model_.nodes(); ++n) {
    if (model_.slots_of(n) != model_.slots_of(0)) return;
  }
  int stride = 1;
  for (std::size_t axis = grid.size(); axis-- > 0; stride *= grid[axis]) {
    const int length = grid[axis];
    if (length < 4) continue;
    for (std::size_t f = 0, plain = fills_.size(); f < plain; ++f) {
      std::vector<int> fill = fills_[f];
      for (int& slot : fill) {
        const int i = model_.node(slot) / stride % length;
        slot += (folded_index(i, length) - i) * stride * model_.slots_of(0);
      }
      fills_.push_back(std::move(fill));
    }
  }
}

/// Returns 1, the strides with much traffic, each a multiple of the one before, and the number of ranks.
std::vector<int> Digits::strides() {
  std::unordered_map<int, double> weight;
  double all = 0;
  const Model::Pair typical =
      model_.slots() > 1 ? model_.between(fills_[0].front(), fills_[0].back()) : Model::Pair{1, 1};
  const int step = std::max(1, model_.ranks() / 4096) | 1;
  for (int r = 0; r < model_.ranks(); r += step) {
    for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) {
      const auto cost = static_cast<double>(Model::cost(typical, *e));
      weight[std::abs(e->to - r)] += cost;
      all += cost;
    }
  }
  std::vector<std::pair<double, int>> sorted;
  for (const auto& [stride, w] : weight) {
    if (w >= enough_share * all) regularity_ += w / all;
    if (w >= enough_share * all && stride > 1 && model_.ranks() % stride == 0) sorted.push_back({-w, stride});
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> chain{1, model_.ranks()};
  for (const auto& [w, stride] : sorted) {
    const bool fits = std::all_of(chain.begin(), chain.end(), [s = stride](int c) { return c % s == 0 || s % c == 0; });
    if (fits && std::find(chain.begin(), chain.end(), stride) == chain.end()) chain.push_back(stride);
  }
  std::sort(chain.begin(), chain.end());
  return chain;
}

std::vector<Digits::Order> Digits::starts() const {
  std::vector<int> plain(radix_.size());
  std::iota(plain.begin(), plain.end(), 0);
  std::vector<Order> out{{plain}};
  std::vector<std::vector<int>> dims;
  for (const int d : plain) {
    if (dims.empty() || dimension_[at(d)] != dimension_[at(d) - 1]) dims.emplace_back();
    dims.back().push_back(d);
  }
  if (dims.size() > 1) out.push_back(interleaved(dims));
  out.push_back({{plain.rbegin(), plain.rend()}});
  for (Order& order : out) order.folded = by_rows_ ? 1 : 0;
  return out;
}

/// Takes a digit of each dimension in turn, beginning with the longest dimension.
Digits::Order Digits::interleaved(const std::vector<std::vector<int>>& dims) const {
  std::size_t longest = 0;
  for (const auto& d : dims) longest = std::max(longest, d.size());
  Order order;
  for (std::size_t level = longest; level > 0; --level) {
    for (const auto& d : dims) {
      if (d.size() >= level) order.digits.push_back(d[d.size() - level]);
    }
  }
  return order;
}

Digits::Order Digits::mixed(Random& random) const {
  // The next digit of each dimension; the digits of a dimension keep their order.
  std::vector<std::pair<int, int>> left;
  for (int d = 0; d < static_cast<int>(radix_.size()); ++d) {
    if (d == 0 || dimension_[at(d)] != dimension_[at(d) - 1]) left.push_back({d, d});
    left.back().second = d + 1;
  }
  Order order{{}, by_rows_ ? std::size_t{1} : 0};
  while (!left.empty()) {
    const std::size_t pick = random.below(static_cast<std::uint32_t>(left.size()));
    order.digits.push_back(left[pick].first++);
    if (left[pick].first == left[pick].second) left.erase(left.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  return order;
}

void Digits::place(const Order& order, Model::Placement& out) const {
  const auto ranks = at(model_.ranks());
  std::vector<int> position(ranks, 0);
  int stride = 1;
  for (std::size_t i = order.digits.size(); i-- > 0;) {
    const auto& digit = digit_[at(order.digits[i])];
    for (std::size_t r = 0; r < ranks; ++r) position[r] += digit[r] * stride;
    stride *= radix_[at(order.digits[i])];
  }
  out.resize(ranks);
  if (pinned_.empty()) {
    for (std::size_t r = 0; r < ranks; ++r) out[r] = fills_[order.folded][at(position[r])];
    return;
  }
  std::vector<int> rank_at(ranks);
  for (std::size_t r = 0; r < ranks; ++r) rank_at[at(position[r])] = static_cast<int>(r);
  std::size_t next = 0;
  for (const int r : rank_at) out[at(r)] = pinned_[at(r)] >= 0 ? pinned_[at(r)] : fills_[0][next++];
}

Model::Placement Digits::climb(Order order, double until) const {
  Model::Placement best;
  Model::Placement trial;
  place(order, best);
  double least = model_.sampled(best, step_);
  const auto attempt = [&](Order changed) {
    place(changed, trial);
    const double cost = model_.sampled(trial, step_);
    if (cost >= least * (1 - 1e-6)) return false;
    least = cost;
    order = std::move(changed);
    best.swap(trial);
    return true;
  };
  const auto moved = [&](std::size_t from, std::size_t to) {
    Order o = order;
    const int d = o.digits[from];
    o.digits.erase(o.digits.begin() + static_cast<std::ptrdiff_t>(from));
    o.digits.insert(o.digits.begin() + static_cast<std::ptrdiff_t>(to), d);
    return o;
  };
  for (bool better = true; better && thread_seconds() < until;) {
    better = false;
    for (std::size_t i = 0; i < order.digits.size(); ++i) {
      for (std::size_t j = i + 1; j < order.digits.size() && thread_seconds() < until; ++j) {
        Order swapped = order;
        std::swap(swapped.digits[i], swapped.digits[j]);
        better |= attempt(std::move(swapped));
        if (j > i + 1) better |= attempt(moved(i, j));
        if (j > i + 1) better |= attempt(moved(j, i));
      }
    }
    // Turned digits are tried only now, because plain orders lead further.
    const bool climbed = better;
    for (std::size_t axis = 1; !climbed && axis < fills_.size(); axis *= 2) {
      better |= attempt({order.digits, order.folded ^ axis});
    }
  }
  return model_.placement(model_.assignment(best));
}

}  // namespace antiphon::mapping
