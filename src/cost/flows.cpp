// SPDX-License-Identifier: Apache-2.0
#include "cost/flows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "antiphon/error.hpp"

namespace antiphon {

namespace {

/// A port lets a burst pass this many times faster than its rate; only the processors behind the port bound it.
constexpr double burst_speedup = 40;
/// A bucket must hold this much, a frame, before it lets anything pass.
constexpr double least_burst_bytes = 1500;
/// TCP hands this much to its port at once, before acknowledgements pace it.
constexpr double brief_bytes = 65536 * 1.05;
/// The most flows of one port for which rates are computed together; later flows would get hardly anything.
constexpr std::size_t most_from_port = 8;
constexpr std::size_t most_into_port = 64;
/// If less than this is left of a flow, it is a rounding error.
constexpr double nothing_bytes = 1e-6;

}  // namespace

void Route::add(ResourceId id, double share) {
  if (count == most) throw InvalidArgument("switches are nested too deeply for the model");
  shares[count] = share;
  resources[count++] = id;
}

void Route::add_before_last(ResourceId id, double share) {
  add(id, share);
  std::swap(resources[count - 1], resources[count - 2]);
  std::swap(shares[count - 1], shares[count - 2]);
}

void Route::put_between(ResourceId sender, ResourceId receiver, double share) {
  for (std::size_t i = 0; i < count; ++i) shares[i] *= share;
  add(sender);
  std::rotate(resources.begin(), resources.begin() + count - 1, resources.begin() + count);
  std::rotate(shares.begin(), shares.begin() + count - 1, shares.begin() + count);
  add(receiver);
}

ResourceId FlowNetwork::add_resource(double bytes_per_s, double burst_bytes, bool incast) {
  Resource resource;
  resource.rate = bytes_per_s;
  resource.burst = resource.tokens = burst_bytes;
  resource.incast = incast;
  resources_.push_back(std::move(resource));
  return static_cast<ResourceId>(resources_.size() - 1);
}

FlowId FlowNetwork::start(double bytes, const Route& route, double now) {
  now_ = std::max(now_, now);
  FlowId id = 0;
  if (free_.empty()) {
    id = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.route = route;
  flow.bytes = bytes;
  flow.rate = 0;
  flow.since = now;
  flow.brief = bytes <= brief_bytes;
  (void)admit(id);
  return id;
}

/// Lets the flow take part, unless too many flows are ahead of it at its ports for it to get anything yet.
bool FlowNetwork::admit(FlowId id) {
  const Route& route = flows_[id].route;
  Resource& out = resources_[route.resources[0]];
  Resource& in = resources_[route.resources[route.count - 1]];
  if (out.flows.size() >= most_from_port) {
    out.waiting.push(id);
    return false;
  }
  if (in.flows.size() >= most_into_port) {
    in.waiting.push(id);
    return false;
  }
  flows_[id].since = now_;
  for (std::size_t i = 0; i < route.count; ++i) {
    resources_[route.resources[i]].flows.push_back(id);
    touch(route.resources[i]);
  }
  return true;
}

void FlowNetwork::admit_waiting(ResourceId id, std::size_t most) {
  Resource& resource = resources_[id];
  // A flow that passes one port only may come back to the same queue.
  for (std::size_t tries = resource.waiting.size(); tries > 0 && resource.flows.size() < most; --tries) {
    (void)admit(resource.waiting.pop());
  }
}

void FlowNetwork::touch(ResourceId id) { dirty_.push_back(id); }

double FlowNetwork::next_event() {
  if (drop_stale_events() && events_.top().time <= moment_s()) return events_.top().time;
  settle_rates();
  return drop_stale_events() ? events_.top().time : std::numeric_limits<double>::infinity();
}

/// Drops events that a later change has made void. Returns whether any event is left.
bool FlowNetwork::drop_stale_events() {
  while (!events_.empty()) {
    const Event& event = events_.top();
    const std::uint32_t version = event.ends ? flows_[event.id].version : resources_[event.id].version;
    if (version == event.version) return true;
    events_.pop();
  }
  return false;
}

bool FlowNetwork::advance(FlowId& ended) {
  const Event event = events_.top();
  events_.pop();
  now_ = std::max(now_, event.time);
  if (!event.ends) {
    refresh(resources_[event.id]);
    resources_[event.id].tokens = 0;
    ++resources_[event.id].version;
    touch(event.id);
    return false;
  }
  Flow& flow = flows_[event.id];
  ++flow.version;
  for (std::size_t i = 0; i < flow.route.count; ++i) {
    auto& in = resources_[flow.route.resources[i]].flows;
    in.erase(std::find(in.begin(), in.end(), event.id));
    touch(flow.route.resources[i]);
  }
  // A multicast's copy may wait for a link between switches, which is in the middle of other flows' routes.
  const Route route = flow.route;
  for (std::size_t i = 0; i < route.count; ++i)
    admit_waiting(route.resources[i], i + 1 == route.count ? most_into_port : most_from_port);
  free_.push_back(event.id);
  ended = event.id;
  return true;
}

/// Brings the resource's bucket up to the present time.
void FlowNetwork::refresh(Resource& resource) {
  if (resource.burst > 0) {
    resource.tokens =
        std::clamp(resource.tokens + (resource.rate - resource.used) * (now_ - resource.since), 0.0, resource.burst);
  }
  resource.since = now_;
}

double FlowNetwork::capacity(const Resource& resource) const {
  if (resource.tokens >= least_burst_bytes) return resource.rate * burst_speedup;
  if (!resource.incast || resource.flows.size() < 2 || slowdown_ == nullptr) return resource.rate;
  double bytes = 0;
  for (const FlowId id : resource.flows) bytes += flows_[id].bytes;
  const auto count = static_cast<int>(resource.flows.size());
  return resource.rate / slowdown_(slowdown_context_, count, bytes / count);
}

/// Nothing is in the resource any more, so its bucket only fills.
void FlowNetwork::rest(Resource& resource) {
  refresh(resource);
  resource.used = 0;
  ++resource.version;
}

/// Collects all resources and flows that share anything with `first`, directly or not.
void FlowNetwork::collect(ResourceId first) {
  part_.assign(1, first);
  part_flows_.clear();
  resources_[first].stamp = stamp_;
  for (std::size_t i = 0; i < part_.size(); ++i) {
    for (const FlowId id : resources_[part_[i]].flows) {
      Flow& flow = flows_[id];
      if (flow.stamp == stamp_) continue;
      flow.stamp = stamp_;
      part_flows_.push_back(id);
      for (std::size_t k = 0; k < flow.route.count; ++k) {
        Resource& next = resources_[flow.route.resources[k]];
        if (next.stamp == stamp_) continue;
        next.stamp = stamp_;
        part_.push_back(flow.route.resources[k]);
      }
    }
  }
}

void FlowNetwork::settle_rates() {
  if (dirty_.empty()) return;
  ++stamp_;
  for (const ResourceId id : dirty_) {
    Resource& resource = resources_[id];
    if (resource.stamp == stamp_) continue;
    if (resource.flows.empty()) {
      rest(resource);
      continue;
    }
    collect(id);
    for (const FlowId f : part_flows_) {
      Flow& flow = flows_[f];
      flow.bytes = std::max(flow.bytes - flow.rate * (now_ - flow.since), 0.0);
      flow.since = now_;
      flow.fixed = false;
    }
    for (const ResourceId r : part_) refresh(resources_[r]);
    rate_updates_ += static_cast<std::int64_t>(part_flows_.size());
    fill();
    publish();
  }
  dirty_.clear();
}

/// Gives each flow of the part its turn in its sender's port.
void FlowNetwork::take_turns() {
  for (; turns_in_use_ > 0; --turns_in_use_) turns_[turns_in_use_ - 1].clear();
  for (const FlowId id : part_flows_) {
    std::size_t turn = 0;
    for (const FlowId other : resources_[flows_[id].route.resources[0]].flows) {
      if (other == id) break;
      turn += flows_[other].brief ? 1 : 0;
    }
    flows_[id].turn = turn;
    turns_in_use_ = std::max(turns_in_use_, turn + 1);
    if (turns_.size() <= turn) turns_.resize(turn + 1);
    turns_[turn].push_back(id);
  }
}

void FlowNetwork::fill() {
  for (std::uint32_t place = 0; place < part_.size(); ++place) {
    Resource& resource = resources_[part_[place]];
    resource.place = place;
    resource.left = capacity(resource);
    resource.used = 0;
    resource.unfixed = 0;
  }
  take_turns();
  for (std::size_t turn = 0; turn < turns_in_use_; ++turn) fill_turn(turn);
}

/// Fills progressively with what the turns before have left.
void FlowNetwork::fill_turn(std::size_t turn) {
  count_unfixed(turn);
  for (std::size_t unfixed = turns_[turn].size(); unfixed > 0;) {
    const auto [full, share] = next_full();
    for (const FlowId id : resources_[full].flows) {
      if (flows_[id].fixed || flows_[id].turn != turn) continue;
      fix(id, share);
      --unfixed;
    }
  }
}

/// Counts the flows that have this turn by resource. Those of the turns before are fixed.
void FlowNetwork::count_unfixed(std::size_t turn) {
  first_full_.clear();
  for (const FlowId id : turns_[turn]) {
    const Route& route = flows_[id].route;
    for (std::size_t k = 0; k < route.count; ++k) {
      Resource& resource = resources_[route.resources[k]];
      if (resource.unfixed++ == 0) {
        resource.unfixed_shares = 0;
        first_full_.push_back({0, resource.place});
      }
      resource.unfixed_shares += route.shares[k];
    }
  }
  for (auto& [share, place] : first_full_) share = share_of(place);
  std::make_heap(first_full_.begin(), first_full_.end());
}

/// Returns the resource that fills first as rates grow, and the rate of its flows at that point.
std::pair<ResourceId, double> FlowNetwork::next_full() {
  while (true) {
    std::pop_heap(first_full_.begin(), first_full_.end());
    const auto [was, place] = first_full_.back();
    first_full_.pop_back();
    if (resources_[part_[place]].unfixed == 0) continue;
    const double share = share_of(place);
    // The share that fixed flows leave to each other flow only grows, so a resource that is still first with its new
    // share is first.
    if (share <= was) return {part_[place], share};
    first_full_.push_back({share, place});
    std::push_heap(first_full_.begin(), first_full_.end());
  }
}

/// Gives the flow its rate.
void FlowNetwork::fix(FlowId id, double rate) {
  Flow& flow = flows_[id];
  flow.fixed = true;
  if (flow.rate != rate) {
    flow.rate = rate;
    ++flow.version;
    if (rate > 0) events_.push({now_ + std::max(flow.bytes - nothing_bytes, 0.0) / rate, true, id, flow.version});
  }
  for (std::size_t k = 0; k < flow.route.count; ++k) {
    Resource& resource = resources_[flow.route.resources[k]];
    const double taken = rate * flow.route.shares[k];
    resource.left = resource.left - taken > resource.rate * 1e-9 ? resource.left - taken : 0.0;
    resource.used += taken;
    --resource.unfixed;
    resource.unfixed_shares -= flow.route.shares[k];
  }
}

/// Plans when buckets of the part will be empty.
void FlowNetwork::publish() {
  for (const ResourceId r : part_) {
    Resource& resource = resources_[r];
    if (resource.burst <= 0) continue;
    ++resource.version;
    if (resource.tokens >= least_burst_bytes && resource.used > resource.rate) {
      events_.push({now_ + resource.tokens / (resource.used - resource.rate), false, r, resource.version});
    }
  }
}

}  // namespace antiphon
