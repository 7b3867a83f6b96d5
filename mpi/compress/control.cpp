// SPDX-License-Identifier: Apache-2.0
#include "compress/control.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "call/greatest_tag.hpp"
#include "compress/codec_speed.hpp"
#include "compress/collectives.hpp"
#include "compress/cost.hpp"
#include "compress/framing.hpp"
#include "compress/incoming.hpp"
#include "compress/losses.hpp"
#include "compress/messages.hpp"
#include "compress/outgoing.hpp"
#include "compress/tracked.hpp"
#include "job/world.hpp"
#include "observe/watch.hpp"

namespace antiphon::mpi {

namespace {

/// Returns the share of a node's link that each of its ranks can count on when all of them send, or what one connection
/// carries if that is less: a message has no other.
double share_bytes_per_s() {
  constexpr double unknown_bits_per_s = 1e9;
  const auto known = static_cast<double>(world.settings.compress_link_bits_per_s);
  const double share_bits_per_s = (known > 0 ? known : unknown_bits_per_s) / ranks_of_fullest_node();
  const auto one = static_cast<double>(world.network.connection_bits_per_s);
  return (one > 0 ? std::min(one, share_bits_per_s) : share_bits_per_s) / 8;
}

/// Finds out what a sender must know of all receivers: which codecs they have, and whether several of their threads
/// receive.
void agree_on_peers(Framing& f) {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  std::array<std::uint32_t, 2> all{codec::available_codecs(), level == MPI_THREAD_MULTIPLE ? 0u : 1u};
  PMPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_UINT32_T, MPI_BAND, MPI_COMM_WORLD);
  f.codecs = all[0];
  f.threads = all[1] == 0;
}

bool several_nodes() {
  return std::any_of(world.node_of_rank.begin(), world.node_of_rank.end(),
                     [](int node) { return node != world.node_of_rank[0]; });
}

}  // namespace

namespace {

/// Returns why compression that chooses by itself needs nothing but what is known before anything is measured to stay
/// off; empty if it must measure.
std::string why_not_measured() {
  if (world.transport != "tcp") {
    const std::string& name = world.network.name;
    return "messages do not surely travel by TCP (" + (name.empty() ? "unknown transport" : name) + ")";
  }
  if (world.settings.compress_link_bits_per_s <= 0)
    return "the rate of the links is not known (hint: ANTIPHON_LINK_BITS_PER_S)";
  return "";
}

std::string terms_text(const Framing& f, bool measured) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(),
                "encoding and decoding take %.2g ns a byte (%s), the wire %.2g (a rank's share)",
                f.speed.both_ns_per_byte(), measured ? "measured at the start" : "usual", 1e9 / f.share_bytes_per_s);
  return text.data();
}

/// Finds out whether compression is on, and says why. The same on every rank.
bool settle(Framing& f) {
  const Settings& s = world.settings;
  if (s.compress == "off") return false;
  if (s.compress == "force") {
    f.why = "every message is framed, as asked";
    return true;
  }
  const bool automatic = s.compress == "auto";
  f.why = several_nodes() ? automatic ? why_not_measured() : "" : "all ranks are on one node";
  if (!f.why.empty()) {
    f.why = "nothing is encoded: " + f.why;
    return false;
  }
  f.share_bytes_per_s = share_bytes_per_s();
  f.ranks_on_core = world.ranks_on_core;
  if (automatic) {
    f.speed = measure_codecs(world.node_of_rank);
    encoding_pace.expect(f.speed.encode_ns_per_byte);
    decoding_pace.expect(f.speed.decode_ns_per_byte);
  }
  const bool messages = can_pay(worth_bytes_per_s(world.ranks_on_core));
  const bool collectives = collectives_can_pay(f.share_bytes_per_s);
  f.why = messages && collectives ? "messages and collectives are encoded where that pays: "
          : messages              ? "messages are encoded where that pays, collectives cannot gain: "
          : collectives           ? "collectives are encoded where that pays, messages cannot gain: "
                                  : "nothing is encoded, for it could not pay: ";
  f.why += terms_text(f, automatic);
  return !automatic || messages || collectives;
}

}  // namespace

void start_framing() {
  const Settings& s = world.settings;
  Framing& f = framing_state;
  if (!settle(f)) return;
  const bool force = s.compress == "force";
  f.least_bytes = std::max<std::int64_t>(64, s.compress_threshold_bytes);
  f.least_frame_bytes = std::min(f.least_bytes, f.least_frame_bytes);
  f.always = force;
  if (force) f.share_bytes_per_s = 1e6;
  f.codec = codec::id_of(s.codec.c_str());
  f.most_tag = greatest_tag();
  agree_on_peers(f);
  f.compresses = true;
  // Collectives are judged by the wire alone. If messages cannot pay even when nothing is left of them, the program's
  // calls pass without a look.
  if (!force && !can_pay(worth_bytes_per_s(world.ranks_on_core))) return;
  PMPI_Comm_dup(MPI_COMM_WORLD, &f.side);
  PMPI_Comm_set_errhandler(f.side, MPI_ERRORS_RETURN);
  PMPI_Type_contiguous(static_cast<int>(chunk_bytes), MPI_BYTE, &chunk_type);
  PMPI_Type_commit(&chunk_type);
  Messages::prepare();
  f.on.store(true, std::memory_order_relaxed);
  watch_for(WatchReason::framing, true);
}

void stop_framing() {
  if (!framing()) return;
  tend_freed(true);
  reap_side_messages(true);
  receive_last_news();
  framing_state.on.store(false, std::memory_order_relaxed);
  watch_for(WatchReason::framing, false);
  Messages::release();
  PMPI_Type_free(&chunk_type);
  PMPI_Comm_free(&framing_state.side);
  forget_losses();
  empty_pool();
}

}  // namespace antiphon::mpi
