// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "schedule/fifo.hpp"

namespace antiphon {

using FlowId = std::uint32_t;
using ResourceId = std::uint32_t;

/// The resources that a flow passes: its sender's port, uplinks, its receiver's port. Of a resource that only some of
/// the flows pass that it stands for, it takes their share.
struct Route {
  static constexpr std::size_t most = 18;
  std::array<ResourceId, most> resources{};
  std::array<double, most> shares{};
  std::size_t count = 0;
  void add(ResourceId id, double share = 1);
  /// Adds a resource ahead of the receiver's port, which stays the last.
  void add_before_last(ResourceId id, double share = 1);
  /// Puts the route between what a sender and a receiver have to themselves, and takes `share` of all on it so far.
  void put_between(ResourceId sender, ResourceId receiver, double share);
};

/// Flows of bytes through shared resources, max-min fair by progressive filling: all rates grow together until a
/// resource is full; its flows then keep their rates, and the other rates grow on. Short flows leave their sender's
/// port in the order in which they came, since each is in the port's queue as a whole: later flows get what earlier
/// flows leave. A resource may let a burst pass at once (a token bucket), and may lose capacity where many flows meet
/// (incast). Time only goes forward.
class FlowNetwork {
 public:
  /// Returns how many times slower a resource is where `flows` flows with `bytes` left on average meet.
  using Slowdown = double (*)(const void* context, int flows, double bytes);

  ResourceId add_resource(double bytes_per_s, double burst_bytes = 0, bool incast = false);
  void set_slowdown(Slowdown slowdown, const void* context) {
    slowdown_ = slowdown;
    slowdown_context_ = context;
  }
  /// Begins a flow of `bytes` > 0 at `now`.
  FlowId start(double bytes, const Route& route, double now);
  /// Returns when the next flow ends or the next rate changes; infinity if nothing is under way.
  double next_event();
  /// Goes on to the time of next_event(). Returns whether a flow ended then; `ended` says which one.
  bool advance(FlowId& ended);
  /// Returns how many rates of flows have been computed.
  [[nodiscard]] std::int64_t rate_updates() const { return rate_updates_; }
  /// Events up to this time belong to one moment: rates are computed once for all of them.
  [[nodiscard]] double moment_s() const { return now_ + 1e-10; }

 private:
  struct Resource {
    double rate = 0;
    double burst = 0;
    bool incast = false;
    double tokens = 0;
    double used = 0;  ///< bytes/s by the flows in it
    double since = 0;
    std::uint32_t version = 0;
    std::vector<FlowId> flows;
    Fifo<FlowId> waiting;  ///< until one of `flows` ends
    // These members are used while rates are computed.
    std::uint32_t place = 0;  ///< in part_
    double left = 0;
    int unfixed = 0;
    double unfixed_shares = 0;
    std::uint32_t stamp = 0;
  };
  struct Flow {
    Route route;
    double bytes = 0;
    double rate = 0;
    double since = 0;
    std::uint32_t version = 0;
    std::uint32_t stamp = 0;
    bool fixed = false;
    bool brief = false;    ///< all of it is in its sender's queue at once
    std::size_t turn = 0;  ///< the number of brief flows ahead of it in that queue
  };
  struct Event {
    double time = 0;
    bool ends = false;  ///< a flow ends; else a bucket is empty
    std::uint32_t id = 0;
    std::uint32_t version = 0;
    bool operator<(const Event& other) const {
      if (time != other.time) return time > other.time;
      return ends != other.ends ? !ends : id > other.id;
    }
  };
  /// A resource that fills up; the first one is on top of a heap. Pairs take longer to compare.
  struct Filling {
    double share = 0;         ///< of each flow
    std::uint32_t place = 0;  ///< in part_
    bool operator<(const Filling& other) const {
      return share != other.share ? share > other.share : place > other.place;
    }
  };

  bool drop_stale_events();
  void touch(ResourceId id);
  bool admit(FlowId id);
  void admit_waiting(ResourceId id, std::size_t most);
  void settle_rates();
  void collect(ResourceId first);
  void refresh(Resource& resource);
  void rest(Resource& resource);
  void take_turns();
  void fill();
  void fill_turn(std::size_t turn);
  void count_unfixed(std::size_t turn);
  std::pair<ResourceId, double> next_full();
  [[nodiscard]] double share_of(std::uint32_t place) const {
    const Resource& resource = resources_[part_[place]];
    return resource.left / resource.unfixed_shares;
  }
  void fix(FlowId id, double rate);
  void publish();
  [[nodiscard]] double capacity(const Resource& resource) const;

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_;
  std::vector<ResourceId> dirty_;
  std::vector<ResourceId> part_;  ///< resources with flow rates that are computed together
  std::vector<FlowId> part_flows_;
  std::vector<std::vector<FlowId>> turns_;  ///< the part's flows by their turn
  std::size_t turns_in_use_ = 0;
  std::vector<Filling> first_full_;  ///< a heap
  std::priority_queue<Event> events_;
  std::int64_t rate_updates_ = 0;
  std::uint32_t stamp_ = 0;
  double now_ = 0;
  Slowdown slowdown_ = nullptr;
  const void* slowdown_context_ = nullptr;
};

}  // namespace antiphon
