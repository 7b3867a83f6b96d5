// SPDX-License-Identifier: Apache-2.0
#include "compress/messages.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "compress/comm_being_freed.hpp"
#include "compress/framing.hpp"
#include "job/library_traits.hpp"
#include "job/world.hpp"
#include "job/world_ranks.hpp"

namespace antiphon::mpi {

namespace {

int keyval = MPI_KEYVAL_INVALID;
std::mutex registry_mutex;
std::vector<Messages*> registry;

/// This grows when a communicator ends, because its handle may come back as another communicator's.
std::atomic<std::uint64_t> generation{1};

/// Holds a communicator that this thread used last.
struct Recent {
  MPI_Comm comm;
  std::uint64_t generation = 0;
  Messages* messages = nullptr;
};
constexpr std::size_t recent_count = 4;
thread_local std::array<Recent, recent_count> recent{};
thread_local std::size_t recent_next = 0;

/// This sums up, by name, what ended communicators did; programs may give each of them a name of its own.
std::map<std::string, Messages::Sum> departed;
constexpr std::size_t most_departed = 256;

/// MPICH may call this within MPI_Finalize, when MPI_COMM_WORLD is gone: no function of MPI may be called.
int delete_messages(MPI_Comm, int, void* value, void*) {
  generation.fetch_add(1, std::memory_order_relaxed);
  auto* messages = static_cast<std::shared_ptr<Messages>*>(value);
  const std::lock_guard lock(registry_mutex);
  Messages::Sum last = (*messages)->sum();
  last.far.kept_bytes = last.near.kept_bytes = 0;
  if (departed.size() >= most_departed && !departed.contains(last.label)) last.label = "(others)";
  Messages::Sum& sum = departed[last.label];
  sum.label = last.label;
  sum.far += last.far;
  sum.near += last.near;
  registry.erase(std::remove(registry.begin(), registry.end(), messages->get()), registry.end());
  delete messages;  // receives under way keep it alive
  return MPI_SUCCESS;
}

std::string name_of(MPI_Comm comm, int size) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(comm, name, &length);
  std::string text(name, static_cast<std::size_t>(length));
  return text.empty() ? "of " + std::to_string(size) + " ranks" : text;
}

/// Limits the memory in which this process keeps messages for predictions. Each process that it sends to gets an equal
/// part, so that a receiver, too, keeps no more than this limit for all its senders. Each communicator's link to a
/// process takes half of what the others leave.
class Reservations {
 public:
  std::size_t take(int world_rank) {
    const std::lock_guard lock(mutex_);
    const auto ranks = static_cast<std::int64_t>(world.node_of_rank.size());
    const std::int64_t all_bytes = std::max<std::int64_t>(0, world.settings.compress_memory_bytes);
    const auto found = left_bytes_.try_emplace(world_rank, static_cast<std::size_t>(all_bytes / ranks)).first;
    const std::size_t bytes = std::min(found->second / 2, most_bytes);
    found->second -= bytes;
    return bytes;
  }
  void give_back(int world_rank, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > 0) left_bytes_[world_rank] += bytes;
  }

 private:
  static constexpr std::size_t most_bytes = 64 << 20;
  std::mutex mutex_;
  std::map<int, std::size_t> left_bytes_;
};

Reservations& reservations() {
  static auto* all = new Reservations;
  return *all;
}

Messages* look_up(MPI_Comm comm) {
  if (const auto messages = Messages::existing(comm)) return messages.get();
  if (ranks_are_threads(comm)) return nullptr;
  // Two threads may meet a new communicator at once.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const auto messages = Messages::existing(comm)) return messages.get();
  auto fresh = std::make_unique<std::shared_ptr<Messages>>(std::make_shared<Messages>(comm));
  if (PMPI_Comm_set_attr(comm, keyval, fresh.get()) != MPI_SUCCESS) return nullptr;
  const std::lock_guard registry_lock(registry_mutex);
  registry.push_back(fresh->get());
  return fresh.release()->get();
}

/// Keeps what the library may still be writing to after the end of its communicator.
void keep_for_ever(Buffer data) {
  static auto* all = new std::vector<Buffer>;
  all->push_back(std::move(data));
}

}  // namespace

Messages::Messages(MPI_Comm comm) : comm_(comm) {
  world_of_peer_ = world_ranks_of_peers(comm);
  // Messages are framed only if all processes on both sides belong to this job.
  eligible_ = !world_of_peer_.empty() && all_in_world(world_of_peer_) && all_in_world(world_ranks(comm));
  label_ = name_of(comm, peers());
  if (eligible_) read_promises();
  out_.resize(world_of_peer_.size());
  in_.resize(world_of_peer_.size());
}

Messages::~Messages() {
  for (std::size_t peer = 0; peer < out_.size(); ++peer) {
    if (out_[peer]) reservations().give_back(world_of_peer_[peer], out_[peer]->reserved_bytes);
  }
  for (Extracted& m : extracted) {
    if (!m.ready) keep_for_ever(std::move(m.data));
  }
}

void Messages::read_promises() {
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Comm_get_info(comm_, &info) != MPI_SUCCESS) return;
  const auto promised = [&](const char* key) {
    std::array<char, 8> value{};
    int found = 0;
    PMPI_Info_get(info, key, static_cast<int>(value.size()) - 1, value.data(), &found);
    return found != 0 && std::string_view(value.data()) == "true";
  };
  // A frame is shorter than the receive, and must be decoded in order.
  sends_plain_ = promised("mpi_assert_exact_length") || promised("mpi_assert_allow_overtaking");
  no_any_tag_ = promised("mpi_assert_no_any_tag");
  PMPI_Info_free(&info);
}

void Messages::prepare() { PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_messages, &keyval, nullptr); }

void Messages::release() {
  generation.fetch_add(1, std::memory_order_relaxed);
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &found);
    if (found != 0) PMPI_Comm_delete_attr(comm, keyval);
  }
  PMPI_Comm_free_keyval(&keyval);
}

Messages* Messages::of(MPI_Comm comm) {
  const std::uint64_t now = generation.load(std::memory_order_relaxed);
  for (const Recent& r : recent) {
    if (r.generation == now && r.comm == comm) return r.messages;
  }
  if (comm == MPI_COMM_NULL) return nullptr;
  CommBeingFreed* const freed = CommBeingFreed::find(comm);
  if (freed != nullptr && !freed->messages) freed->messages = std::make_shared<Messages>(comm);
  Messages* found = freed != nullptr ? freed->messages.get() : look_up(comm);
  if (found != nullptr && !found->eligible_) found = nullptr;
  if (freed != nullptr) return found;
  recent[recent_next++ % recent_count] = {comm, now, found};
  return found;
}

std::shared_ptr<Messages> Messages::existing(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &found) != MPI_SUCCESS || found == 0) return nullptr;
  return *static_cast<std::shared_ptr<Messages>*>(value);
}

bool Messages::may_bring(int source, int tag) const {
  return (source == MPI_ANY_SOURCE || (source >= 0 && source < peers())) &&
         (tag == MPI_ANY_TAG || (tag >= 0 && tag <= framing_state.most_tag));
}

std::vector<Messages::Sum> Messages::sums() {
  const std::lock_guard lock(registry_mutex);
  std::vector<Sum> all;
  for (const auto& [label, sum] : departed) all.push_back(sum);
  for (Messages* messages : registry) all.push_back(messages->sum());
  return all;
}

bool Messages::is_near(int peer) const {
  int self = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &self);
  const auto node = [](int rank) { return world.node_of_rank[static_cast<std::size_t>(rank)]; };
  return node(self) == node(world_rank(peer));
}

codec::LinkOptions link_options(std::size_t history_bytes) {
  codec::LinkOptions options;
  options.frame.minimum_frame_bytes = static_cast<std::size_t>(framing_state.least_frame_bytes);
  options.frame.wire_bytes_per_s = framing_state.share_bytes_per_s;
  options.frame.allowed_codecs = framing_state.codecs;
  options.frame.codec = framing_state.codec;
  options.history_bytes = history_bytes;
  return options;
}

OutLink& Messages::to(int peer) {
  const std::lock_guard lock(links_mutex_);
  auto& link = out_[static_cast<std::size_t>(peer)];
  if (!link) {
    link = std::make_unique<OutLink>();
    link->near = is_near(peer);
    if (link->near && !framing_state.always) return *link;
    // With several threads, links keep no messages: one to build on may be in a receive that no thread completes first.
    link->remembers = !framing_state.threads;
    if (link->remembers) link->reserved_bytes = reservations().take(world_rank(peer));
    // Besides what is kept, a message on its way takes at most a quarter of the reservation, and reusable buffers take
    // half as much as what is kept. So half of it is left to keep messages.
    link->encoder = std::make_unique<codec::Encoder>(link_options(link->reserved_bytes / 2));
  }
  return *link;
}

InLink& Messages::from(int peer) {
  const std::lock_guard lock(links_mutex_);
  auto& link = in_[static_cast<std::size_t>(peer)];
  if (!link) {
    link = std::make_unique<InLink>();
    link->near = is_near(peer);
  }
  return *link;
}

Messages::Sum Messages::sum() {
  Sum result{label_, {}, {}};
  for (const auto& link : out_) {
    if (!link) continue;
    MessageCounts& sent = link->near ? result.near : result.far;
    sent += link->counts;
    if (link->encoder) sent.kept_bytes += link->encoder->statistics().history_bytes;
  }
  for (const auto& link : in_) {
    if (!link) continue;
    MessageCounts& received = link->near ? result.near : result.far;
    received += link->counts;
    received.kept_bytes += link->decoder.statistics().history_bytes;
  }
  return result;
}

}  // namespace antiphon::mpi
