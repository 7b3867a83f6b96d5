// SPDX-License-Identifier: Apache-2.0
// A group as programs use it: the protocol over sockets, a lock, and the keeper thread for when the owner is busy.
#include <atomic>
#include <mutex>

#include "multicast/engine.hpp"
#include "multicast/faults.hpp"
#include "multicast/keeper.hpp"
#include "multicast/socket_wire.hpp"

namespace antiphon::multicast {

namespace {

/// An owner that has not called for this long is busy elsewhere.
constexpr std::int64_t away_ns = 1'500'000;
constexpr int turns_at_once = 64;
constexpr std::int64_t least_wait_ns = 50'000, most_wait_ns = 500'000'000;

}  // namespace

class Group::Implementation final : public BackgroundTask {
 public:
  Implementation(const Description& description, int index, Endpoint endpoint, const LocalOptions& local)
      : sockets_(description, index, std::move(endpoint)),
        faulty_(local.faults.any() ? std::make_unique<FaultyWire>(sockets_, local.faults) : nullptr),
        engine_(wire(), description, index, local), called_ns_(sockets_.now_ns()) {}

  Look look() override {
    const auto sockets = sockets_.sockets();
    Look result{false, 0, {sockets[0], sockets[1]}};
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || sockets_.now_ns() - called_ns_ < away_ns) return result;
    for (int i = 0; i < turns_at_once && engine_.progress(); ++i) ++changes_;
    result.owner_away = true;
    const std::int64_t now = sockets_.now_ns();
    result.wait_ns =
        engine_.due_ns() - now > most_wait_ns ? most_wait_ns : std::max(engine_.due_ns() - now, least_wait_ns);
    return result;
  }

  template <typename Use>
  auto with(Use use) {
    const std::lock_guard lock(mutex_);
    return use(engine_);
  }

  bool progress(std::int64_t patience_ns) {
    std::int64_t wait = 0;
    {
      const std::lock_guard lock(mutex_);
      const bool any = engine_.progress();
      if (any) ++changes_;
      const std::int64_t now = engine_.core().read_ns();
      wait = any || engine_.core().failure ? 0 : std::min(patience_ns, engine_.due_ns() - now);
      called_ns_ = now + std::max<std::int64_t>(wait, 0);
      if (wait <= 0) return any;
    }
    // The wait holds no lock and sees only the sockets; packets that the faults stage holds are due soon, so it is
    // short.
    sockets_.wait(faulty_ ? std::min<std::int64_t>(wait, 100'000) : wait);
    const std::lock_guard lock(mutex_);
    const bool any = engine_.progress();
    if (any) ++changes_;
    called_ns_ = engine_.core().read_ns();
    return any;
  }

  /// Called when the owner posts; it will call again soon.
  template <typename Post>
  Ticket post(Post post) {
    const std::lock_guard lock(mutex_);
    const Ticket ticket = post(engine_);
    called_ns_ = sockets_.now_ns();
    ++changes_;
    return ticket;
  }

  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  Wire& wire() { return faulty_ ? static_cast<Wire&>(*faulty_) : sockets_; }

  std::mutex mutex_;
  SocketWire sockets_;
  std::unique_ptr<FaultyWire> faulty_;
  Engine engine_;
  std::atomic<std::int64_t> called_ns_;
  std::atomic<std::uint64_t> changes_ = 1;
};

Group::Group(const Description& description, int index, Endpoint endpoint, const LocalOptions& local) {
  description.check();
  if (index < 0 || static_cast<std::size_t>(index) >= description.members.size())
    throw InvalidArgument("multicast group: no such member");
  implementation_ = std::make_shared<Implementation>(description, index, std::move(endpoint), local);
  if (local.keeper) keep(implementation_);
}

Group::~Group() = default;

Ticket Group::send(std::span<const std::byte> bytes, const SendOptions& options) {
  return implementation_->post([&](Engine& engine) { return engine.send(bytes, options); });
}

Ticket Group::receive(int sender, std::span<std::byte> buffer) {
  const Part all{0, buffer};
  return receive(sender, static_cast<std::int64_t>(buffer.size()), {&all, 1});
}

Ticket Group::receive(int sender, std::int64_t message_bytes, std::span<const Part> parts) {
  return implementation_->post([&](Engine& engine) { return engine.receive(sender, message_bytes, parts); });
}

bool Group::progress(std::int64_t patience_ns) { return implementation_->progress(patience_ns); }

bool Group::done(const Ticket& ticket) const {
  return implementation_->with([&](Engine& engine) { return engine.done(ticket); });
}

std::int64_t Group::ready_bytes(const Ticket& ticket) const {
  return implementation_->with([&](Engine& engine) { return engine.ready_bytes(ticket); });
}

std::uint64_t Group::changes() const { return implementation_->changes(); }

bool Group::drained() const {
  return implementation_->with([](Engine& engine) { return engine.drained(); });
}

std::optional<Failure> Group::failure() const {
  return implementation_->with([](Engine& engine) { return engine.core().failure; });
}

int Group::index() const {
  return implementation_->with([](Engine& engine) { return engine.core().index; });
}

int Group::size() const {
  return implementation_->with([](Engine& engine) { return engine.core().size; });
}

int Group::window_packets() const {
  return implementation_->with([](Engine& engine) { return engine.core().window_packets; });
}

int Group::payload_bytes() const {
  return implementation_->with([](Engine& engine) { return engine.core().payload_bytes; });
}

Statistics Group::statistics() const {
  return implementation_->with([](Engine& engine) { return engine.statistics(); });
}

void Group::probe(std::uint32_t run, std::uint32_t packets, int packet_bytes, std::int64_t rate_bytes_per_s) {
  implementation_->with([&](Engine& engine) { engine.probing().start(run, packets, packet_bytes, rate_bytes_per_s); });
}

bool Group::probe_sent() const {
  return implementation_->with(
      [](Engine& engine) { return engine.probing().sent() && engine.core().courier.queued() == 0; });
}

std::vector<ProbeCount> Group::probed(std::uint32_t run) const {
  return implementation_->with([&](Engine& engine) { return engine.probing().counts(run); });
}

}  // namespace antiphon::multicast
