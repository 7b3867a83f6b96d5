// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks: every way to send one, and every way to receive it.
#include <sched.h>

#include <algorithm>

#include "script.hpp"

namespace {

enum class Send { isend, issend, ibsend, send, ssend, bsend };
enum class Receive { irecv, recv, probe, iprobe, mprobe, improbe, any_tag };

struct Message {
  int from = 0, to = 0, tag = 0;
  long elements = 0, room = 0;
  Send send = Send::isend;
  Receive receive = Receive::irecv;
};

/// The messages of a step, which all ranks know.
struct Traffic {
  std::vector<Message> all{};
  bool from_any = false;  // receives name no source; each sends one message at most
  uint64_t seed = 0;
};

bool posts_first(Receive how) { return how == Receive::irecv || how == Receive::any_tag; }

Traffic draw_traffic(Rng& rng, const Comm& comm, int step) {
  Traffic traffic{.from_any = rng.chance(30), .seed = rng.next()};
  const bool one_tag = traffic.from_any || rng.chance(30), posted = one_tag || rng.chance(50);
  const int count = rng.between(1, 10), tag = step % 2000 * 16, sink = rng.below(comm.size);
  for (int i = 0; i < count; i++) {
    Message message{.from = rng.below(comm.size), .to = rng.chance(40) ? sink : rng.below(comm.size)};
    message.tag = tag + (one_tag ? 0 : i);
    message.elements = rng.chance(10) ? 0 : 1 + static_cast<long>(rng.next() % (rng.chance(80) ? 300 : 20000));
    message.room = message.elements + (rng.chance(30) ? rng.below(50) : 0);
    message.send = static_cast<Send>(rng.below(posted ? 6 : 3));
    if ((message.send == Send::bsend || message.send == Send::ibsend) && message.elements > 300) {
      message.send = Send::isend;
    }
    message.receive = posted ? Receive::irecv : static_cast<Receive>(rng.below(6));
    if (!traffic.from_any && posted && rng.chance(30)) message.receive = Receive::any_tag;
    const bool is_known = std::any_of(traffic.all.begin(), traffic.all.end(),
                                      [&](const Message& m) { return m.from == message.from && m.to == message.to; });
    if (!traffic.from_any || !is_known) traffic.all.push_back(message);
  }
  long longest = 0;
  for (const Message& message : traffic.all) longest = std::max(longest, message.elements);
  for (Message& message : traffic.all)
    if (traffic.from_any) message.room = longest;
  return traffic;
}

Bytes content_of(const Traffic& traffic, uint64_t comm_id, const Message& message, const Layout& base) {
  const auto at = static_cast<uint64_t>(&message - traffic.all.data());
  return stream(hash_of(traffic.seed, comm_id, at), message.elements * base.size);
}

Layout base_of(const Traffic& traffic, Operation& o) {
  Rng alike(traffic.seed);
  const Layout base = base_layout(alike);
  o.keep(base);
  return base;
}

void send(Script& s, const Traffic& traffic, const Comm& comm, const Message& m) {
  auto o = std::make_unique<Operation>();
  Rng mine(hash_of(traffic.seed, m.tag, m.from, m.to, 1));
  const Layout base = base_of(traffic, *o);
  const Typed type = typed(base, m.elements, mine);
  o->keep(type.layout);
  const Bytes content = content_of(traffic, comm.id, m, base);
  o->send.add({.layout = type.layout, .count = type.count, .content = [content](uint64_t) { return content; }});
  o->send.allocate(mine);
  o->fill(traffic.seed);
  o->what = s.describe(("send to " + std::to_string(m.to) + " tag " + std::to_string(m.tag)).c_str(), comm);
  const int count = static_cast<int>(type.count);
  const MPI_Datatype kind = type.layout.type;
  void* const at = o->send.at();
  int code = MPI_SUCCESS;
  switch (m.send) {
    case Send::isend: code = MPI_Isend(at, count, kind, m.to, m.tag, comm.handle, &o->request); break;
    case Send::issend: code = MPI_Issend(at, count, kind, m.to, m.tag, comm.handle, &o->request); break;
    case Send::ibsend: code = MPI_Ibsend(at, count, kind, m.to, m.tag, comm.handle, &o->request); break;
    case Send::send: code = MPI_Send(at, count, kind, m.to, m.tag, comm.handle); break;
    case Send::ssend: code = MPI_Ssend(at, count, kind, m.to, m.tag, comm.handle); break;
    default: code = MPI_Bsend(at, count, kind, m.to, m.tag, comm.handle);
  }
  s.must(code, o->what);
  if (m.send <= Send::ibsend) s.under_way.push_back(std::move(o));
}

/// Compares source, tag and length with those of the message that was sent, whose content is then expected.
std::string judge(const Traffic& traffic, uint64_t comm_id, const Message& m, Operation& o, const Typed& type,
                  const Layout& base, const MPI_Status& status) {
  const Message* sent = &m;
  for (const Message& other : traffic.all)
    if (traffic.from_any && other.from == status.MPI_SOURCE && other.to == m.to) sent = &other;
  if (status.MPI_SOURCE != sent->from) return "source " + std::to_string(status.MPI_SOURCE);
  if (status.MPI_TAG != sent->tag) return "tag " + std::to_string(status.MPI_TAG);
  int elements = 0, count = 0;
  MPI_Get_elements(&status, type.layout.type, &elements);
  MPI_Get_count(&status, type.layout.type, &count);
  if (elements != sent->elements * static_cast<long>(base.pieces.size())) {
    return std::to_string(elements) + " elements instead of " + std::to_string(sent->elements);
  }
  const long units = type.layout.size / base.size;
  const long expected = sent->elements % units == 0 ? sent->elements / units : MPI_UNDEFINED;
  if (count != expected) return "count " + std::to_string(count) + " instead of " + std::to_string(expected);
  o.receive.expect(o.receive.blocks()[0], content_of(traffic, comm_id, *sent, base));
  return {};
}

/// A receive of this message whose result is judged by its status.
std::unique_ptr<Operation> receiver(Script& s, const std::shared_ptr<Traffic>& traffic, const Comm& comm,
                                    const Message& m, Typed& type) {
  auto o = std::make_unique<Operation>();
  Rng mine(hash_of(traffic->seed, m.tag, m.from, m.to, 2));
  const Layout base = base_of(*traffic, *o);
  type = typed(base, m.room, mine);
  o->keep(type.layout);
  o->receive.add({.layout = type.layout, .count = type.count, .is_input = false});
  o->receive.allocate(mine);
  o->fill(traffic->seed);
  o->what = s.describe(("receive from " + std::to_string(m.from) + " tag " + std::to_string(m.tag)).c_str(), comm);
  o->judge_status = [traffic, id = comm.id, &m, raw = o.get(), type, base](const MPI_Status& status) {
    return judge(*traffic, id, m, *raw, type, base, status);
  };
  return o;
}

void post(Script& s, const std::shared_ptr<Traffic>& traffic, const Comm& comm, const Message& m) {
  Typed type;
  auto o = receiver(s, traffic, comm, m, type);
  const int from = traffic->from_any ? MPI_ANY_SOURCE : m.from;
  const int tag = m.receive == Receive::any_tag ? MPI_ANY_TAG : m.tag;
  s.must(
      MPI_Irecv(o->receive.at(), static_cast<int>(type.count), type.layout.type, from, tag, comm.handle, &o->request),
      o->what);
  s.under_way.push_back(std::move(o));
}

/// Receives now: the call waits, or first looks for the message.
void receive(Script& s, const std::shared_ptr<Traffic>& traffic, const Comm& comm, const Message& m) {
  Typed type;
  auto o = receiver(s, traffic, comm, m, type);
  MPI_Status seen, status;
  MPI_Message message = MPI_MESSAGE_NULL;
  int found = 0;
  const bool looks = m.receive != Receive::recv;
  if (m.receive == Receive::probe) s.must(MPI_Probe(m.from, m.tag, comm.handle, &seen), "probe");
  if (m.receive == Receive::mprobe) s.must(MPI_Mprobe(m.from, m.tag, comm.handle, &message, &seen), "mprobe");
  while (!found && (m.receive == Receive::iprobe || m.receive == Receive::improbe)) {
    if (m.receive == Receive::iprobe) s.must(MPI_Iprobe(m.from, m.tag, comm.handle, &found, &seen), "iprobe");
    else s.must(MPI_Improbe(m.from, m.tag, comm.handle, &found, &message, &seen), "improbe");
    if (!found) sched_yield();
  }
  int elements = 0;
  if (looks) MPI_Get_elements(&seen, type.layout.type, &elements);
  if (looks && (seen.MPI_SOURCE != m.from || seen.MPI_TAG != m.tag || (elements == 0) != (m.elements == 0))) {
    s.fail(o->what, "the probe saw " + std::to_string(elements) + " elements");
  }
  void* const at = o->receive.at();
  const int count = static_cast<int>(type.count);
  if (m.receive == Receive::mprobe) {
    s.must(MPI_Mrecv(at, count, type.layout.type, &message, &status), o->what);
  } else if (m.receive == Receive::improbe) {
    s.must(MPI_Imrecv(at, count, type.layout.type, &message, &o->request), o->what);
    s.under_way.push_back(std::move(o));
    return;
  } else {
    s.must(MPI_Recv(at, count, type.layout.type, m.from, m.tag, comm.handle, &status), o->what);
  }
  s.finish(*o, status);
}

/// Sends to a rank at some distance, and receives from the one as far on the other side.
struct Ring {
  int to = 0, from = 0;
  long count = 0;
  Area sent, got;
};

void prepare_ring(Ring& ring, const Comm& comm, Rng& rng, uint64_t seed) {
  const int far = rng.below(comm.size);
  ring.to = (comm.rank + far) % comm.size;
  ring.from = (comm.rank - far + comm.size) % comm.size;
  ring.count = static_cast<long>(rng.next() % (rng.chance(80) ? 300 : 40000)) * 4;
  const Layout byte;
  const auto content = [&](int from) {
    return [seed, id = comm.id, from, count = ring.count](uint64_t time) {
      return stream(hash_of(seed, id, from, time), count);
    };
  };
  ring.sent.add({.layout = byte, .count = ring.count, .content = content(comm.rank)});
  ring.got.add({.layout = byte, .count = ring.count, .content = content(ring.from), .is_input = false});
  ring.sent.allocate(rng);
  ring.got.allocate(rng);
}

void judge_ring(Script& s, Ring& ring, const Comm& comm, const char* what) {
  for (Area* area : {&ring.sent, &ring.got}) {
    const std::string difference = area->difference();
    if (!difference.empty()) s.fail(s.describe(what, comm), difference);
  }
}

void start_ring(Script& s, Ring& ring, const Comm& comm, Rng& rng, int tag) {
  MPI_Request both[2];
  const int count = static_cast<int>(ring.count), times = rng.between(1, 6);
  s.must(MPI_Recv_init(ring.got.at(), count, MPI_BYTE, ring.from, tag, comm.handle, &both[0]), "recv_init");
  s.must(MPI_Send_init(ring.sent.at(), count, MPI_BYTE, ring.to, tag, comm.handle, &both[1]), "send_init");
  for (int time = 0; time < times; time++) {
    ring.sent.fill(static_cast<uint64_t>(time));
    ring.got.fill(static_cast<uint64_t>(time));
    if (s.own.chance(50)) s.must(MPI_Startall(2, both), "startall");
    else s.must(MPI_Start(&both[0]) + MPI_Start(&both[1]), "start");
    if (s.own.chance(50)) s.must(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), "waitall");
    else s.must(MPI_Wait(&both[1], MPI_STATUS_IGNORE) + MPI_Wait(&both[0], MPI_STATUS_IGNORE), "wait");
    judge_ring(s, ring, comm, "persistent messages in a ring");
  }
  for (MPI_Request& request : both) s.must(MPI_Request_free(&request), "request_free");
}

#ifdef HAVE_PERSISTENT
void send_partitions(Script& s, Ring& ring, const Comm& comm, int tag) {
  MPI_Request both[2];
  const int parts = 4;
  const MPI_Count each = ring.count / parts;
  s.must(MPI_Psend_init(ring.sent.at(), parts, each, MPI_BYTE, ring.to, tag, comm.handle, MPI_INFO_NULL, &both[1]),
         "psend_init");
  s.must(MPI_Precv_init(ring.got.at(), parts, each, MPI_BYTE, ring.from, tag, comm.handle, MPI_INFO_NULL, &both[0]),
         "precv_init");
  for (uint64_t time = 0; time < 2; time++) {
    ring.sent.fill(time);
    ring.got.fill(time);
    s.must(MPI_Startall(2, both), "startall");
    std::vector<int> order{0, 1, 2, 3};
    s.own.shuffle(order);
    for (const int part : order) s.must(MPI_Pready(part, both[1]), "pready");
    s.must(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), "waitall");
    judge_ring(s, ring, comm, "partitioned messages in a ring");
  }
  for (MPI_Request& request : both) s.must(MPI_Request_free(&request), "request_free");
}
#endif

}  // namespace

void exchange_messages(Script& s, uint64_t seed) {
  Rng place(seed);
  const Comm& comm = s.comm_at(place.below(comm_places));
  if (comm.handle == MPI_COMM_NULL || comm.is_inter) return;
  Rng rng(hash_of(seed, comm.id));
  const auto traffic = std::make_shared<Traffic>(draw_traffic(rng, comm, s.step));
  s.doing("messages", comm);
  for (const Message& m : traffic->all)
    if (m.to == comm.rank && posts_first(m.receive)) post(s, traffic, comm, m);
  for (const Message& m : traffic->all)
    if (m.from == comm.rank) send(s, *traffic, comm, m);
  for (const Message& m : traffic->all)
    if (m.to == comm.rank && !posts_first(m.receive)) receive(s, traffic, comm, m);
}

void exchange_in_ring(Script& s, uint64_t seed) {
  Rng place(seed);
  const Comm& comm = s.comm_at(place.below(comm_places));
  if (comm.handle == MPI_COMM_NULL || comm.is_inter) return;
  Rng rng(hash_of(seed, comm.id));
  Ring ring;
  prepare_ring(ring, comm, rng, seed);
  ring.sent.fill(0);
  ring.got.fill(0);
  const int tag = s.step % 2000 * 16 + 15, count = static_cast<int>(ring.count), how = rng.below(4);
  s.doing("a ring", comm);
  if (how == 0) {
    MPI_Status status;
    s.must(MPI_Sendrecv(ring.sent.at(), count, MPI_BYTE, ring.to, tag, ring.got.at(), count, MPI_BYTE, ring.from, tag,
                        comm.handle, &status),
           "sendrecv");
  } else if (how == 1) {
    std::memcpy(ring.got.at(), ring.sent.at(), static_cast<size_t>(count));
    s.must(MPI_Sendrecv_replace(ring.got.at(), count, MPI_BYTE, ring.to, tag, ring.from, tag, comm.handle,
                                MPI_STATUS_IGNORE),
           "sendrecv_replace");
#ifdef HAVE_PERSISTENT
  } else if (how == 2) {
    return send_partitions(s, ring, comm, tag);
#endif
  } else {
    return start_ring(s, ring, comm, rng, tag);
  }
  judge_ring(s, ring, comm, how == 0 ? "sendrecv" : "sendrecv_replace");
}
