// SPDX-License-Identifier: Apache-2.0
#include "entry/messages_in_turn.hpp"

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "antiphon/index.hpp"
#include "antiphon/send_groups.hpp"
#include "entry/before_comm_ends.hpp"
#include "entry/comm_state.hpp"
#include "entry/held_messages.hpp"
#include "entry/operations.hpp"
#include "job/clock.hpp"
#include "job/progress_hook.hpp"
#include "job/world.hpp"
#include "observe/job_facts.hpp"
#include "observe/summed_row.hpp"
#include "observe/text_table.hpp"
#include "observe/watch.hpp"

namespace antiphon::mpi {

namespace {

/// Shorter messages leave at once, and nothing is looked at for their sake.
constexpr std::int64_t least_bytes = 4096;
/// After so many groups of which none could go in turn, so many long messages pass without a look.
constexpr int most_useless = 16;
constexpr int passed_then = 256;
constexpr int least_nodes = 3;

struct Counts {
  std::int64_t groups = 0, messages = 0, bytes = 0;
};

/// Everything here is under the operations' Lock. Messages that several threads send make groups that do not repeat.
struct InTurn {
  SendGroups groups;
  double bytes_per_s;
  HeldMessages* held = nullptr;  ///< the last group's; the operations own it
  bool looked = false;           ///< at a message since the last wait
  int useless = 0;               ///< groups in a row
  int passes = 0;                ///< so many more messages
  Counts counts;
};
/// They are never destroyed: a program that ends without MPI_Finalize must not call MPI.
InTurn* in_turn = nullptr;

/// Tells whether messages have not been handed to the library yet.
bool some_are_held() { return in_turn->held != nullptr && !in_turn->held->all_started(); }

/// Sends what is held, at once.
void let_go() {
  if (some_are_held()) in_turn->held->release(true, false);
}

/// Sees no more calls until the next long message, unless shorter ones could overtake what is held.
void look_away() {
  if (!some_are_held()) watch_for(WatchReason::order, false);
}

/// Returns how far the receiver is, counted along nodes and ranks from this rank on.
HeldMessages::Distance distance_to(int peer, const CommShape& shape) {
  const auto& nodes = shape.node_of_rank;
  const int all = static_cast<int>(world.node_of_rank.size());
  const int by_node = nodes[at(peer)] - nodes[at(shape.rank)];
  return {(by_node + all) % all, (peer - shape.rank + shape.size) % shape.size};
}

bool hold(const P2pCall& call, std::int64_t bytes, const CommShape& shape, int& result) {
  const bool is_first = in_turn->held == nullptr || in_turn->held->released();
  if (is_first) {
    if (in_turn->held != nullptr) in_turn->held->release(true, false);
    in_turn->held = new HeldMessages(in_turn->bytes_per_s, in_turn->held);
  }
  result = in_turn->held->hold(call, bytes, distance_to(call.peer, shape));
  if (is_first && result != MPI_SUCCESS) delete std::exchange(in_turn->held, nullptr);
  if (result != MPI_SUCCESS) return false;
  if (is_first) {
    operations::start(*in_turn->held);
    ++in_turn->counts.groups;
  }
  ++in_turn->counts.messages;
  in_turn->counts.bytes += bytes;
  return true;
}

/// Returns what is to be known of a message; nothing if none like it is ever held.
std::optional<SendGroups::Send> known_send(const P2pCall& call, const CommShape*& shape) {
  MPI_Count element_bytes = 0;
  if (call.type == MPI_DATATYPE_NULL || PMPI_Type_size_x(call.type, &element_bytes) != MPI_SUCCESS) return std::nullopt;
  const CommState* const state = CommState::of(call.comm);
  if (state == nullptr || call.peer < 0 || call.peer >= state->size()) return std::nullopt;
  shape = &state->shape();
  const int node = shape->node_of_rank[at(call.peer)];
  const bool near = node == shape->node_of_rank[at(shape->rank)];
  return SendGroups::Send{shape->members, shape->size, shape->nodes, call.peer, node, near, call.count * element_bytes};
}

/// Sees an MPI_Isend. Returns whether it is held.
bool send(const P2pCall& call, int& result) {
  if (in_turn->passes > 0) {
    --in_turn->passes;
    let_go();
    look_away();
    return false;
  }
  if (watching::any_source.exchange(false, std::memory_order_relaxed)) in_turn->groups.spoil();
  in_turn->looked = true;
  const CommShape* shape = nullptr;
  const std::optional<SendGroups::Send> sent = known_send(call, shape);
  if (!sent) return false;
  const bool is_long = sent->bytes >= least_bytes;
  const bool holds = is_long && in_turn->groups.send(*sent, now_s()) == SendGroups::Advice::hold;
  if (holds && hold(call, sent->bytes, *shape, result)) return true;
  // It must not overtake what is held; none of that goes to this node.
  if (!sent->near) let_go();
  return false;
}

/// The group, if there was one, is complete. Where many could not go in turn, some pass without a look.
SendGroups::Way end_group() {
  if (!std::exchange(in_turn->looked, false)) return {};
  const SendGroups::Way way = in_turn->groups.wait(now_s());
  in_turn->useless = way.in_turn ? 0 : in_turn->useless + 1;
  if (in_turn->useless >= most_useless) {
    in_turn->useless = 0;
    in_turn->passes = passed_then;
  }
  return way;
}

/// The program waits: what is held goes.
void release_for_wait() {
  HeldMessages* const held = in_turn->held;
  if (held != nullptr && held->was_interrupted()) in_turn->groups.interrupt();
  const SendGroups::Way way = end_group();
  if (held != nullptr && !held->released()) held->release(way.rotates, true);
  look_away();
}

/// The program does something else.
void interrupt() {
  in_turn->groups.interrupt();
  let_go();
  look_away();
}

/// The library may cancel the request but not the message, so the message is not cancelled.
bool cancel(const P2pCall& call, int& result) {
  interrupt();
  result = MPI_SUCCESS;
  return in_turn->held != nullptr && in_turn->held->has(*call.requests);
}

bool handle_in_turn(const P2pCall& call, int& result) {
  const operations::Lock lock;
  if (in_turn->held != nullptr) in_turn->held->see_call();
  switch (call.call) {
    case P2p::isend: return send(call, result);
    case P2p::irecv: return false;
    case P2p::wait:
    case P2p::waitall:
    case P2p::waitany:
    case P2p::waitsome: release_for_wait(); return false;
    case P2p::cancel: return cancel(call, result);
    default: interrupt(); return false;
  }
}

/// Sees the ends of calls.
class Ends final : public P2pRecorder {
 public:
  void before(const P2pCall&) noexcept override {}
  void after(const P2pCall& call, int) noexcept override {
    const operations::Lock lock;
    switch (call.call) {
      case P2p::isend: return in_turn->groups.sent(now_s());
      case P2p::wait:
      case P2p::waitany:
      case P2p::waitsome: return in_turn->groups.waited(now_s());
      case P2p::waitall:
        in_turn->groups.waited(now_s());
        // The program may compute now.
        return let_go();
      default: return;
    }
  }
};

/// Returns why no messages are held in this run; empty if some may be.
std::string why_not() {
  const Settings& s = world.settings;
  const std::set<int> nodes(world.node_of_rank.begin(), world.node_of_rank.end());
  if (!s.orders_messages) return "ANTIPHON_ORDER_MESSAGES";
  if (static_cast<int>(nodes.size()) < least_nodes) return "fewer than " + std::to_string(least_nodes) + " nodes";
  if (world.transport != "tcp") return "they do not travel by TCP";
  if (s.link_bits_per_s == 0) return "the links' rate is unknown";
  return progress_hook::available() ? "" : "the library calls nobody while it waits";
}

}  // namespace

void start_messages_in_turn() {
  static Ends ends;
  const std::string why = why_not();
  add_fact({"the program's messages", why.empty() ? "in turn where many go at once" : "as they are sent",
            why.empty() ? "by default" : why});
  if (!why.empty()) return;
  const int ranks_per_node = ranks_of_fullest_node();
  const double bytes_per_s = static_cast<double>(world.settings.link_bits_per_s) / 8 / ranks_per_node;
  in_turn = new InTurn{SendGroups(bytes_per_s), bytes_per_s};
  before_comm_ends = send_held_messages;
  watch_long_sends(least_bytes, handle_in_turn, &ends);
}

void send_held_messages() {
  if (in_turn == nullptr) return;
  const operations::Lock lock;
  if (some_are_held()) interrupt();
}

void stop_messages_in_turn() { watch_long_sends(std::numeric_limits<std::int64_t>::max(), nullptr, nullptr); }

Json in_turn_row() {
  const Counts counts = in_turn != nullptr ? in_turn->counts : Counts{};
  return summed_row<3>({"groups", "messages", "bytes"}, {counts.groups, counts.messages, counts.bytes});
}

void print_in_turn(std::FILE* out, const Json& row) {
  if (row.is_null()) return;
  const auto number = [&](const char* name) { return std::to_string(row.at(name).as_integer()); };
  std::fprintf(out, "antiphon: messages in turn: %s groups of the program's messages,\n  %s messages with %s\n",
               number("groups").c_str(), number("messages").c_str(), bytes_text(row.at("bytes").get<double>()).c_str());
}

}  // namespace antiphon::mpi
