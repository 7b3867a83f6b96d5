// SPDX-License-Identifier: Apache-2.0
#include "codecs/link/stream.hpp"

#include "codecs/frame/frame.hpp"

namespace antiphon::codec {

namespace {

constexpr double encode_bytes_per_s = 5e9;
constexpr double decode_bytes_per_s = 5e9;
constexpr std::uint64_t plan_every = 64;
constexpr std::size_t trial_bytes = 256 << 10;  // kept of a channel before it is known whether that helps
constexpr std::uint64_t trial_messages = 8;
constexpr int candidates = 3;
constexpr double drop = 1.1;

bool is_power_of_two(std::uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

}  // namespace

const Window::Kept* Stream::back(const Window& window, std::size_t step) const {
  if (step == 0 || step > kept_ || step > max_steps) return nullptr;
  const Window::Kept* kept = window.find(numbers_[(kept_ - step) % max_steps]);
  return kept != nullptr && kept->usable ? kept : nullptr;
}

Foresight Stream::foresight(const Window& window, Extrapolation extrapolation, const Steps& steps) const {
  Foresight result{extrapolation, {nullptr, nullptr, nullptr}};
  for (int i = 0; i < references_of(extrapolation); ++i) {
    const Window::Kept* kept = back(window, steps[static_cast<std::size_t>(i)]);
    if (kept == nullptr) return {};
    result.messages[i] = kept->data.get();
  }
  return result;
}

/// The earlier messages that are most like this one.
std::vector<std::uint16_t> Stream::similar(ConstBytes raw, const Window& window, const Kernel& kernel, Work& work) const {
  std::vector<std::pair<double, std::uint16_t>> ranked;
  Spec spec = spatial_.spec;
  spec.based = false;
  spec.extrapolation = Extrapolation::last;
  for (std::uint16_t step = 1; step <= std::min<std::uint64_t>(kept_, max_steps); ++step) {
    const Window::Kept* kept = back(window, step);
    if (kept == nullptr || kept->bytes != raw.size()) continue;
    const References messages = {kept->data.get(), nullptr, nullptr};
    ranked.emplace_back(expected_bytes(spec, raw, messages, kernel, work), step);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::uint16_t> steps;
  for (std::size_t i = 0; i < ranked.size() && i < candidates; ++i) steps.push_back(ranked[i].second);
  return steps;
}

void Stream::consider_past(ConstBytes raw, const Options& options, const Window& window, const Kernel& kernel, Work& work,
                           double& best_s) {
  const auto consider = [&](Extrapolation extrapolation, const Steps& steps) {
    const Foresight foresight = this->foresight(window, extrapolation, steps);
    if (foresight.extrapolation == Extrapolation::none) return;
    const Found found = search_spec(raw, options.element, foresight, kernel, work);
    if (found.bytes == 0) return;
    const double s = seconds_for({found.bytes, encode_bytes_per_s, decode_bytes_per_s, {}}, raw.size(), options.wire_bytes_per_s);
    if (s >= best_s) return;
    best_s = s;
    plan_ = {Id::temporal, found.spec};
    steps_ = steps;
    planned_share_ = found.bytes / static_cast<double>(raw.size());
  };
  const std::vector<std::uint16_t> likely = similar(raw, window, kernel, work);
  for (std::size_t i = 0; i < likely.size() && i < 2; ++i) {
    const std::uint16_t p = likely[i];
    consider(Extrapolation::last, {p, 0, 0});
    consider(Extrapolation::linear, {p, static_cast<std::uint16_t>(2 * p), 0});
    consider(Extrapolation::quadratic, {p, static_cast<std::uint16_t>(2 * p), static_cast<std::uint16_t>(3 * p)});
    if (p > 1) consider(Extrapolation::parallelogram, {1, p, static_cast<std::uint16_t>(p + 1)});
  }
}

void Stream::make_plan(ConstBytes raw, const Options& options, const Window& window, const Kernel& kernel, Work& work) {
  spatial_ = plan_alone(raw, options, kernel, work);
  plan_ = spatial_;
  planned_share_ = 1;
  double best_s = 1e300;
  if (plan_.codec == Id::spatial || plan_.codec == Id::stored) {
    const double bytes = plan_.codec == Id::stored ? static_cast<double>(raw.size())
                                                   : expected_bytes(plan_.spec, raw, {nullptr, nullptr, nullptr}, kernel, work);
    best_s = seconds_for({bytes, 8e9, 8e9, {}}, raw.size(), options.wire_bytes_per_s);
  } else {
    best_s = 0;
  }
  const bool temporal_allowed = (options.allowed_codecs >> static_cast<int>(Id::temporal) & 1) != 0 &&
                                (options.codec == Id::automatic || options.codec == Id::temporal);
  if (temporal_allowed) consider_past(raw, options, window, kernel, work, best_s);
  worse_ = 0;
  // At each power of two, then steadily: what a channel carries changes as a program gets going.
  next_plan_ = count_ < plan_every ? std::max<std::uint64_t>(count_ + 1, 2 * count_) : count_ + plan_every;
  if (count_ < 5) next_plan_ = count_ + 1;
}

bool Stream::keeps(std::size_t history_bytes, std::size_t message_bytes) const {
  if (message_bytes > history_bytes / 4) return false;
  if (plan_.codec == Id::temporal || count_ < trial_messages || count_ * message_bytes < trial_bytes) return true;
  // The last four before a new plan, so that it has something to look back on.
  return next_plan_ - count_ <= 4;
}

bool Stream::references(const Window& window, std::uint64_t next_number, Past& past) const {
  past.hash = 0;
  for (int i = 0; i < references_of(plan_.spec.extrapolation); ++i) {
    const std::size_t step = steps_[static_cast<std::size_t>(i)];
    const Window::Kept* kept = back(window, step);
    if (kept == nullptr) return false;
    const std::uint64_t distance = next_number - numbers_[(kept_ - step) % max_steps];
    past.messages[i] = kept->data.get();
    past.distances[i] = static_cast<std::uint16_t>(distance);
    past.hash = static_cast<std::uint16_t>(past.hash * 3 + kept->hash);
  }
  return true;
}

void Stream::sent(const Frame& frame, std::size_t raw_bytes, bool kept, std::uint64_t number) {
  ++count_;
  if (kept) {
    if (numbers_.empty()) numbers_.resize(max_steps);
    numbers_[kept_++ % max_steps] = number;
  }
  const double share = static_cast<double>(frame.bytes) / static_cast<double>(std::max<std::size_t>(raw_bytes, 1));
  if (share > drop * planned_share_ && !is_power_of_two(count_)) {
    // Each time the plan disappoints, the next look waits longer: a channel of mixed messages is left in peace.
    if (++worse_ == 2) next_plan_ = std::min(next_plan_, count_);
  }
}

}  // namespace antiphon::codec
