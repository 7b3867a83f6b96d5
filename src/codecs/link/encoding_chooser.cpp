// SPDX-License-Identifier: Apache-2.0
#include "codecs/link/encoding_chooser.hpp"

#include <algorithm>

namespace antiphon::codec {

namespace {

constexpr double encode_bytes_per_s = 6e9;
constexpr double decode_bytes_per_s = 6e9;
// The first messages are planned one by one, because each has more earlier messages to build on.
constexpr std::uint64_t early_plans = 4;
// What is kept of a channel before it is known whether references help.
constexpr std::size_t trial_bytes = 256 << 10;
constexpr std::uint64_t kept_before_plan = 4;
constexpr std::size_t likely_steps = 2;
constexpr std::size_t refined_candidates = 2;
constexpr double much_worse = 1.1;
constexpr std::uint64_t max_patience = 256;
constexpr std::size_t min_depth = 6;  // how many messages back a new search can look
constexpr std::uint32_t max_pieces = 1 << 14;
constexpr std::size_t max_temporal = 3;
constexpr std::uint64_t kept_after_temporal = 256;                             // in messages
constexpr double planning_share = 0.02;                                        // share of the wire's time
constexpr double plan_s = 60e-6, thorough_plan_s = 200e-6, glance_s = 0.3e-6;  // approximate costs
constexpr double least_reluctance = 4, most_reluctance = 256;
constexpr double worthwhile = 0.95;  // largest size of a better encoding, relative to the present one
constexpr double max_credit_s = most_reluctance * thorough_plan_s;
constexpr double temporal_bytes = 6;  // size of the names of the references on the wire

}  // namespace

void Numbers::add(std::uint64_t number) {
  if (latest_.size() < max_steps) {
    latest_.push_back(number);
    next_ = latest_.size() % max_steps;
  } else {
    latest_[next_] = number;
    next_ = (next_ + 1) % max_steps;
  }
}

/// Returns nullptr if no message of that length lies there: callers may cut each message into different pieces.
const Window::Entry* EncodingChooser::back(std::uint32_t piece, std::size_t bytes, const Window& window,
                                           std::size_t step) const {
  if (piece >= pieces_.size() || step == 0 || step > pieces_[piece].count()) return nullptr;
  const Window::Entry* entry = window.find(pieces_[piece].back(step));
  return entry != nullptr && entry->usable && entry->bytes == bytes ? entry : nullptr;
}

Prediction EncodingChooser::prediction(std::uint32_t piece, std::size_t bytes, const Window& window,
                                       Extrapolation extrapolation, const Steps& steps) const {
  Prediction result{extrapolation, {nullptr, nullptr, nullptr}};
  for (int i = 0; i < references_of(extrapolation); ++i) {
    const Window::Entry* entry = back(piece, bytes, window, steps[static_cast<std::size_t>(i)]);
    if (entry == nullptr) return {};
    result.messages[i] = entry->data.get();
  }
  return result;
}

/// Returns the steps back to the earlier messages that are most like this one.
std::vector<std::uint16_t> EncodingChooser::similar(std::uint32_t piece, ConstBytes raw, const Context& context) const {
  std::vector<std::pair<double, std::uint16_t>> ranked;
  Spec spec;
  spec.es_log2 = standalone_.values.es_log2;
  spec.map = standalone_.values.map == Map::rotated ? Map::ordered : standalone_.values.map;
  spec.extrapolation = Extrapolation::last;
  const std::size_t count = piece < pieces_.size() ? pieces_[piece].count() : 0;
  for (std::size_t step = 1; step <= count; ++step) {
    const Window::Entry* entry = back(piece, raw.size(), context.window, step);
    if (entry == nullptr) continue;
    const References messages = {entry->data.get(), nullptr, nullptr};
    ranked.emplace_back(expected_bytes(spec, raw, messages, context.kernel, context.work, true),
                        static_cast<std::uint16_t>(step));
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::uint16_t> steps;
  for (std::size_t i = 0; i < ranked.size() && i < likely_steps; ++i) steps.push_back(ranked[i].second);
  return steps;
}

/// Returns all ways to extrapolate from the kept messages; the first looks best on small samples.
std::vector<EncodingChooser::Candidate> EncodingChooser::candidates(std::uint32_t piece, ConstBytes raw,
                                                                    const Context& context) const {
  std::vector<Candidate> all;
  for (const std::uint16_t p : similar(piece, raw, context)) {
    const auto times = [p](int n) { return static_cast<std::uint16_t>(n * p); };
    all.push_back({Extrapolation::last, {p, 0, 0}});
    all.push_back({Extrapolation::linear, {p, times(2), 0}});
    all.push_back({Extrapolation::quadratic, {p, times(2), times(3)}});
    if (p > 1) all.push_back({Extrapolation::parallelogram, {1, p, static_cast<std::uint16_t>(p + 1)}});
  }
  Spec spec = standalone_.values;
  spec.based = false;
  for (Candidate& candidate : all) {
    const Prediction prediction =
        this->prediction(piece, raw.size(), context.window, candidate.extrapolation, candidate.steps);
    if (prediction.extrapolation == Extrapolation::none) continue;
    spec.extrapolation = candidate.extrapolation;
    for (const int order : {0, 1}) {
      spec.order = static_cast<std::uint8_t>(order);
      if (order == 1 && spec.lag[0] == 0) spec.lag[0] = 1;
      for (const Map map : {Map::ordered, Map::rotated}) {
        spec.map = standalone_.values.map == Map::plain ? Map::plain : map;
        const double bytes = expected_bytes(spec, raw, prediction.messages, context.kernel, context.work, true);
        if (candidate.bytes == 0 || bytes < candidate.bytes) candidate.bytes = bytes;
      }
    }
  }
  std::erase_if(all, [](const Candidate& c) { return c.bytes == 0; });
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.bytes < b.bytes; });
  return all;
}

/// Refines the most promising candidates and stores those that beat the encoding without references.
void EncodingChooser::plan_temporal(std::uint32_t piece, ConstBytes raw, const Context& context, bool thorough) {
  const std::vector<Candidate> all = candidates(piece, raw, context);
  double best_s = standalone_.seconds;
  for (std::size_t i = 0; i < all.size() && i < refined_candidates; ++i) {
    const Prediction prediction =
        this->prediction(piece, raw.size(), context.window, all[i].extrapolation, all[i].steps);
    Found found = search_near(temporal_.empty() ? standalone_.values : temporal_[0].encoding.spec, raw, prediction,
                              context.kernel, context.work);
    if (thorough) {
      constexpr Element by_size[] = {Element::i8, Element::i16, Element::f32, Element::f64};
      Options options = context.options;
      if (standalone_.values.map != Map::plain) options.element = by_size[standalone_.values.es_log2];
      const Found other = search_spec(raw, options, prediction, context.kernel, context.work);
      if (other.bytes != 0 && other.bytes < found.bytes) found = other;
    }
    if (found.bytes == 0) continue;
    const Estimate estimate{found.bytes + temporal_bytes, encode_bytes_per_s, decode_bytes_per_s, {}};
    const double s = seconds_for(estimate, raw.size(), context.options.wire_bytes_per_s);
    if (s >= best_s) continue;
    best_s = s;
    add({{Id::temporal, found.spec}, all[i].steps});
    chosen_ = 0;
  }
}

void EncodingChooser::add(const TemporalEncoding& temporal) {
  std::erase(temporal_, temporal);
  temporal_.insert(temporal_.begin(), temporal);
  if (temporal_.size() > max_temporal) temporal_.pop_back();
}

bool EncodingChooser::needs_planning(std::uint32_t piece) const {
  if (plans_ == 0) return true;
  if (piece != 0 && !disappointed_) return false;
  const double cost_s = count_ >= next_thorough_ ? thorough_plan_s : plan_s;
  return count_ >= next_plan_ || credit_s_ >= reluctance_ * cost_s;
}

void EncodingChooser::plan(std::uint32_t piece, ConstBytes raw, const Context& context) {
  const bool thorough = count_ < early_plans || disappointed_ || count_ >= next_thorough_;
  const double before_bytes = plans_ == 0 ? 0 : best_now(piece, raw, context).bytes;
  if (thorough) {
    standalone_ = codec::choose_standalone(raw, context.options, context.kernel, context.work);
    next_thorough_ = std::max<std::uint64_t>(early_plans, 4 * count_);
  } else {
    standalone_.refresh(raw, context.options, context.kernel, context.work);
  }
  chosen_ = -1;
  const bool allowed = (context.options.allowed_codecs >> static_cast<int>(Id::temporal) & 1) != 0 &&
                       (context.options.codec == Id::automatic || context.options.codec == Id::temporal);
  if (allowed) plan_temporal(piece, raw, context, thorough);
  credit_s_ = std::max(0.0, credit_s_ - reluctance_ * (thorough ? thorough_plan_s : plan_s));
  const bool better = plans_ == 0 || best_now(piece, raw, context).bytes < worthwhile * before_bytes;
  const double most = std::clamp(static_cast<double>(count_) / 4, least_reluctance, most_reluctance);
  reluctance_ = better || count_ < early_plans ? std::max(reluctance_ / 2, 1.0) : std::min(2 * reluctance_, most);
  ++plans_;
  schedule_next_plan(static_cast<double>(raw.size()) / context.options.wire_bytes_per_s);
}

void EncodingChooser::schedule_next_plan(double wire_s) {
  last_plan_ = count_;
  if (wire_s < 3 * thorough_plan_s) {
    // The wire is about as fast as planning, so planning happens twice and then at growing distances.
    next_plan_ = count_ == 0 ? 1 : 4 * count_;
  } else {
    // The first messages are planned one by one, then those at 1.5, 2, 3, 4, 6, 8 … times the count: a bounded share.
    const std::uint64_t power = count_ == 0 ? 0 : std::uint64_t{1} << (63 - __builtin_clzll(count_));
    next_plan_ = count_ < early_plans ? count_ + 1 : count_ < power + power / 2 ? power + power / 2 : 2 * power;
  }
  share_ = 0;
  worse_ = 0;
  disappointed_ = false;
}

bool EncodingChooser::keeps(std::size_t message_bytes) const {
  if (count_ <= early_plans || count_ * message_bytes < trial_bytes) return true;
  if (!temporal_.empty() && count_ < last_temporal_ + kept_after_temporal) return true;
  return next_plan_ - count_ <= kept_before_plan;
}

bool EncodingChooser::resolve(const TemporalEncoding& temporal, std::uint32_t piece, std::size_t bytes,
                              const Window& window, ReferenceSet& references) const {
  references.hash = 0;
  for (int i = 0; i < references_of(temporal.encoding.spec.extrapolation); ++i) {
    const std::size_t step = temporal.steps[static_cast<std::size_t>(i)];
    const Window::Entry* entry = back(piece, bytes, window, step);
    if (entry == nullptr) return false;
    references.messages[i] = entry->data.get();
    references.distances[i] = static_cast<std::uint16_t>(window.end() - pieces_[piece].back(step));
    references.hash = static_cast<std::uint16_t>(references.hash * 3 + entry->hash);
  }
  return true;
}

/// Estimates from small samples which of the known encodings suits this message.
EncodingChooser::Best EncodingChooser::best_now(std::uint32_t piece, ConstBytes raw, const Context& context) const {
  int best = -1;
  const bool spatial = standalone_.encoding.codec == Id::spatial;
  double best_bytes =
      spatial ? expected_bytes(standalone_.encoding.spec, raw, {nullptr, nullptr, nullptr}, context.kernel,
                               context.work, true)
              : standalone_.bytes / static_cast<double>(standalone_.raw_bytes) * static_cast<double>(raw.size());
  for (std::size_t i = 0; i < temporal_.size(); ++i) {
    const Spec& spec = temporal_[i].encoding.spec;
    const Prediction prediction =
        this->prediction(piece, raw.size(), context.window, spec.extrapolation, temporal_[i].steps);
    if (prediction.extrapolation == Extrapolation::none) continue;
    const double bytes =
        expected_bytes(spec, raw, prediction.messages, context.kernel, context.work, true) + temporal_bytes;
    if (bytes < best_bytes) best_bytes = bytes, best = static_cast<int>(i);
  }
  return {best, best_bytes};
}

const Encoding& EncodingChooser::choose(std::uint32_t piece, ConstBytes raw, bool kept, const Context& context,
                                        ReferenceSet& references) {
  if (!kept || temporal_.empty()) return standalone_.encoding;
  const double wire_s = static_cast<double>(raw.size()) / context.options.wire_bytes_per_s;
  const bool planned_now = last_plan_ == count_ && piece == 0;
  if (!planned_now && planning_share * wire_s > glance_s * static_cast<double>(temporal_.size() + 1)) {
    chosen_ = best_now(piece, raw, context).index;
  }
  if (chosen_ < 0) return standalone_.encoding;
  const TemporalEncoding& temporal = temporal_[static_cast<std::size_t>(chosen_)];
  if (!resolve(temporal, piece, raw.size(), context.window, references)) return standalone_.encoding;
  last_temporal_ = count_;
  return temporal.encoding;
}

void EncodingChooser::sent(std::uint32_t piece, const Frame& frame, std::size_t raw_bytes, double wire_bytes_per_s) {
  if (piece == 0) ++count_;
  credit_s_ = std::min(max_credit_s, credit_s_ + planning_share * static_cast<double>(raw_bytes) / wire_bytes_per_s);
  const double share = static_cast<double>(frame.bytes) / static_cast<double>(std::max<std::size_t>(raw_bytes, 1));
  if (share_ == 0) share_ = share;
  worse_ = share > much_worse * share_ ? worse_ + 1 : 0;
  if (worse_ < 2 || count_ < last_plan_ + patience_ || disappointed_) return;
  // The wait doubles each time, so that a channel of mixed messages is not planned again and again.
  disappointed_ = true;
  next_plan_ = std::min(next_plan_, count_);
  patience_ = std::min(2 * patience_, max_patience);
}

void EncodingChooser::kept(std::uint32_t piece, std::uint64_t number) {
  if (piece >= max_pieces) return;
  if (piece >= pieces_.size()) pieces_.resize(piece + 1);
  pieces_[piece].add(number);
  latest_ = number;
}

std::uint64_t EncodingChooser::oldest_wanted(std::size_t message_bytes, std::uint64_t otherwise) const {
  const auto first = std::find_if(pieces_.begin(), pieces_.end(), [](const Numbers& n) { return n.count() > 0; });
  if (first == pieces_.end()) return otherwise;
  std::size_t depth = std::max(min_depth, trial_bytes / std::max<std::size_t>(message_bytes, 1));
  for (const TemporalEncoding& temporal : temporal_) {
    depth = std::max<std::size_t>(depth, 1 + *std::max_element(temporal.steps.begin(), temporal.steps.end()));
  }
  return first->back(std::min(depth, first->count()));
}

}  // namespace antiphon::codec
