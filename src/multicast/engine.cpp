// SPDX-License-Identifier: Apache-2.0
#include "multicast/engine.hpp"

namespace antiphon::multicast {

namespace {

constexpr std::size_t least_batch = 8, most_batch = 32;  ///< data packets handed to the wire at once
constexpr int batches_at_once = 4;                       ///< sent before the engine looks for incoming packets
constexpr std::int64_t telling_ns = 5'000'000;
/// A member that gets this many data packets sent to it alone, and for a while (which doubles each time) none sent to
/// all, is cut off: a switch has lost its membership. Membership reports repair that within minutes, rejoining at once.
constexpr int deaf_after_packets = 8;
constexpr std::int64_t deaf_after_ns = 200'000'000, most_deaf_after_ns = 60'000'000'000;
constexpr std::int64_t full_wire_ns = 20'000;  ///< how long to wait before a full wire is tried again

}  // namespace

Engine::Engine(Wire& wire, const Description& description, int index, const LocalOptions& local)
    : wire_(wire), core_(wire, description, index, local), probing_(core_), reliability_(Reliability::create(core_)),
      waiting_since_ns_(static_cast<std::size_t>(core_.size), 0), asked_ns_(static_cast<std::size_t>(core_.size), 0),
      ask_again_ns_(static_cast<std::size_t>(core_.size), 0), heard_all_ns_(core_.now_ns),
      rejoin_after_ns_(deaf_after_ns), told_ns_(static_cast<std::size_t>(core_.size), 0) {}

Ticket Engine::send(std::span<const std::byte> bytes, const SendOptions& options) {
  const Ticket ticket{core_.index, core_.out.post(bytes, options)};
  core_.read_clock(wire_);
  if (!core_.failure) send_out();
  due_ns_ = 0;
  return ticket;
}

Ticket Engine::receive(int sender, std::int64_t message_bytes, std::span<const Part> parts) {
  if (sender < 0 || sender >= core_.size || sender == core_.index)
    throw InvalidArgument("multicast receive: no such sender");
  const auto s = static_cast<std::size_t>(sender);
  InStream& stream = core_.in[s];
  if (!stream.waiting()) {
    core_.read_clock(wire_);
    waiting_since_ns_[s] = asked_ns_[s] = core_.now_ns;
    ask_again_ns_[s] = core_.options().lost_after_ns / 300;
  }
  const Ticket ticket{sender, stream.post(message_bytes, parts)};
  if (stream.mismatched()) {
    core_.fail(Failure::Kind::size_mismatch, sender,
               "multicast: a message of member " + std::to_string(sender) + " has another size than its receive");
  }
  reliability_->changed(sender);
  due_ns_ = watch_ns_ = 0;
  return ticket;
}

bool Engine::done(const Ticket& ticket) const {
  if (ticket.sender < 0 || ticket.sender >= core_.size) return false;
  if (ticket.sender == core_.index) return core_.out.done(ticket.sequence);
  return core_.in[static_cast<std::size_t>(ticket.sender)].done(ticket.sequence);
}

std::int64_t Engine::ready_bytes(const Ticket& ticket) const {
  if (ticket.sender < 0 || ticket.sender >= core_.size || ticket.sender == core_.index) return 0;
  return core_.in[static_cast<std::size_t>(ticket.sender)].ready_bytes(ticket.sequence);
}

bool Engine::drained() const {
  if (core_.out.base() < core_.out.queued()) return false;
  return std::none_of(core_.in.begin(), core_.in.end(), [](const InStream& stream) { return stream.waiting(); });
}

Statistics Engine::statistics() const {
  Statistics result = core_.statistics;
  result.socket_overflows = wire_.overflows();
  result.system_calls = wire_.system_calls();
  return result;
}

bool Engine::progress() {
  core_.read_clock(wire_);
  if (core_.failure) return after_failure();
  bool any = take_in();
  if (!core_.failure) any = send_out() || any;
  if (!core_.failure && (any || core_.now_ns >= due_ns_)) {
    due_ns_ = reliability_->tick();
    if (core_.now_ns >= watch_ns_) watch_senders();
    due_ns_ = std::min(due_ns_, watch_ns_);
    if (core_.out.may_send() || !probing_.sent())
      due_ns_ = std::min(due_ns_, std::max(paced_until_ns_, core_.now_ns + full_wire_ns));
    if (!core_.failure) any = reliability_->send_again() || any;
  }
  core_.courier.flush();
  return any;
}

bool Engine::take_in() {
  bool any = false;
  for (int i = 0; i < batches_at_once; ++i) {
    const auto packets = wire_.receive();
    if (packets.empty()) break;
    any = true;
    for (const auto packet : packets) {
      take(packet);
      if (core_.failure) return true;
    }
  }
  return any;
}

void Engine::take(std::span<const std::byte> packet) {
  const auto opened = core_.courier.open(packet);
  if (!opened) return;
  const int from = opened->head.from;
  core_.heard_ns[static_cast<std::size_t>(from)] = core_.now_ns;
  notice_deafness(opened->head);
  const auto body = opened->body;
  const auto handle = [&](const auto& parsed, auto&& use) { parsed ? use(*parsed) : malformed(); };
  switch (opened->head.type) {
    case Type::data: return take_data(from, body);
    case Type::ack: return handle(parse_ack(body), [&](const Ack& ack) { reliability_->ack(from, ack); });
    case Type::nack: return take_nack(from, body);
    case Type::receipt:
      return handle(parse_receipt(body), [&](const Receipt& receipt) { reliability_->receipt(from, receipt); });
    case Type::lost: return handle(parse_lost(body), [&](const Lost& lost) { take_lost(from, lost); });
    case Type::probe:
      return handle(parse_probe(body), [&](const Probe& probe) { probing_.take(from, probe, packet.size()); });
    case Type::heartbeat:
      return handle(parse_heartbeat(body), [&](const Heartbeat& heartbeat) {
        InStream& stream = core_.in[static_cast<std::size_t>(from)];
        stream.saw(unwrap(heartbeat.sent, stream.base()));
        reliability_->heartbeat(from, heartbeat);
      });
  }
}

void Engine::notice_deafness(const Head& head) {
  if (head.to == to_all) {
    heard_all_ns_ = core_.now_ns;
    alone_ = 0;
    return;
  }
  if (head.type != Type::data || ++alone_ < deaf_after_packets || core_.now_ns - heard_all_ns_ < rejoin_after_ns_)
    return;
  wire_.rejoin();
  ++core_.statistics.rejoined;
  heard_all_ns_ = core_.now_ns;
  alone_ = 0;
  rejoin_after_ns_ = std::min(2 * rejoin_after_ns_, most_deaf_after_ns);
}

void Engine::take_data(int from, std::span<const std::byte> body) {
  const auto data = parse_data(body);
  if (!data) return malformed();
  InStream& stream = core_.in[static_cast<std::size_t>(from)];
  const std::size_t held = stream.held();
  const auto outcome = stream.take(*data, body.subspan(data_bytes));
  Statistics& count = core_.statistics;
  switch (outcome) {
    case InStream::Outcome::fresh:
      ++count.data_received;
      count.early_held += stream.held() - held;
      break;
    case InStream::Outcome::duplicate: ++count.duplicates; break;
    case InStream::Outcome::refused: ++count.early_refused; break;
    case InStream::Outcome::malformed: return malformed();
    case InStream::Outcome::mismatch:
      return core_.fail(Failure::Kind::size_mismatch, from,
                        "multicast: message " + std::to_string(data->sequence) + " of member " + std::to_string(from) +
                            " has " + std::to_string(data->message_bytes) +
                            " bytes, its receive another size (or the members post in different orders)");
  }
  reliability_->data(from, *data, outcome);
}

void Engine::take_nack(int from, std::span<const std::byte> body) {
  const auto nack = parse_nack(body);
  if (!nack) return malformed();
  if ((nack->flags & Nack::alive) != 0) {
    core_.courier.post(from, Type::heartbeat, multicast::body(Heartbeat{0, 0, wrap(core_.out.sent())}));
    ++core_.statistics.heartbeats_sent;
  }
  reliability_->nack(from, *nack);
}

void Engine::take_lost(int from, const Lost& lost) {
  if (lost.member >= core_.size) return malformed();
  const std::string who = lost.member == core_.index ? "this member" : "member " + std::to_string(lost.member);
  core_.fail(Failure::Kind::member_lost, lost.member,
             "multicast: member " + std::to_string(from) + " says that " + who + " is lost");
}

bool Engine::send_out() {
  bool any = reliability_->send_again();
  any = probing_.send() || any;
  const std::int64_t rate = core_.options().rate_bytes_per_s;
  for (int i = 0; i < batches_at_once && core_.now_ns >= paced_until_ns_; ++i) {
    const auto packets = core_.out.next(rate > 0 ? least_batch : batch_);
    if (packets.empty()) break;
    const std::size_t taken = core_.courier.send(packets);
    // A full wire is tried with a small batch, because sealing packets that it does not take is wasted work.
    batch_ = taken == packets.size() ? std::min(2 * batch_, most_batch) : least_batch;
    if (taken == 0) break;
    any = true;
    core_.out.commit(taken);
    core_.statistics.data_sent += taken;
    core_.sent_ns = core_.now_ns;
    reliability_->sent();
    if (rate > 0) {
      const auto bytes = static_cast<double>(taken) * core_.options().packet_bytes;
      paced_until_ns_ = std::max(paced_until_ns_, core_.now_ns - 1'000'000) +
                        static_cast<std::int64_t>(bytes * 1e9 / static_cast<double>(rate));
    }
  }
  core_.courier.flush();
  return any;
}

/// Asks awaited senders that have been silent whether they are alive, at growing intervals. A sender that is only late
/// answers and may take any time.
void Engine::watch_senders() {
  watch_ns_ = never;
  for (int sender = 0; sender < core_.size; ++sender) {
    const auto s = static_cast<std::size_t>(sender);
    if (sender == core_.index || !core_.in[s].waiting()) continue;
    if (core_.lose_if_silent(sender, waiting_since_ns_[s])) return;
    if (core_.now_ns >= std::max(asked_ns_[s], core_.heard_ns[s]) + ask_again_ns_[s]) {
      core_.courier.post(sender, Type::nack, body(Nack{Nack::alive, wrap(core_.in[s].base()), {}}));
      ++core_.statistics.polls_sent;
      asked_ns_[s] = core_.now_ns;
      ask_again_ns_[s] = std::min(2 * ask_again_ns_[s], core_.options().lost_after_ns / 8);
    }
    watch_ns_ = std::min(watch_ns_, std::max(asked_ns_[s], core_.heard_ns[s]) + ask_again_ns_[s]);
  }
}

/// The group is of no use after a failure; a member that still writes to this one is told so.
bool Engine::after_failure() {
  const int lost = core_.failure->kind == Failure::Kind::member_lost && core_.failure->member >= 0
                       ? core_.failure->member
                       : core_.index;
  for (const auto packet : wire_.receive()) {
    const auto opened = core_.courier.open(packet);
    if (!opened || opened->head.type == Type::lost) continue;
    std::int64_t& told = told_ns_[opened->head.from];
    if (told != 0 && core_.now_ns - told < telling_ns) continue;
    told = core_.now_ns;
    core_.courier.post(opened->head.from, Type::lost, body(Lost{static_cast<std::uint16_t>(lost)}));
  }
  core_.courier.flush();
  due_ns_ = never;
  return false;
}

}  // namespace antiphon::multicast
