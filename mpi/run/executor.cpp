// SPDX-License-Identifier: Apache-2.0
#include "run/executor.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include "compress/collectives.hpp"
#include "compress/cost.hpp"
#include "entry/persistent.hpp"
#include "job/settings.hpp"
#include "observe/watch.hpp"

namespace antiphon::mpi {

namespace {

/// A rank's messages to itself, which no schedule sends.
constexpr int copy_tag = 32000;
/// Messages between a multicast group's leader and its followers: one for each sender, above all tags of schedules.
constexpr int follower_tag = 20000;
constexpr int follower_tags = 8192;
int tag_of_sender(int rank) { return follower_tag + rank % follower_tags; }
/// Instead of a number of messages under way: the one that is to be passed on has not come.
constexpr int to_relay = -1;
/// Where nothing but multicasts is under way, a rank sleeps so long at a time for a packet: longer than a tick of the
/// system's clock (4 ms, often), for to set a timer that comes before that takes longer than all the rest of being
/// woken up. Shorter once nothing has come, and where something else must be moved on,
constexpr std::int64_t packet_patience_ns = 5'000'000, later_patience_ns = 1'000'000, short_patience_ns = 200'000;
/// but not before it has looked so many times, some 50 µs, where it has a core of its own: to be woken up takes longer
/// than to look.
constexpr int looks_before_sleep = 200;
/// On a core that others wait for a few turns, if each look gives it away: who sleeps is woken up later than the next
/// turn comes.
constexpr int looks_on_shared_core = 64;
constexpr double own_core_crowding = 1.25;  ///< up to this, nobody else waits for the core
/// What a slot of encoded data begins with.
constexpr std::int64_t frame_length_bytes = 8;
static_assert(encoded_overhead_bytes == frame_length_bytes + static_cast<std::int64_t>(codec::frame_overhead_bytes));

constexpr int many_messages = 8;

/// All messages of a schedule; a multicast is one to each receiver, so a schedule that has any is not counted.
std::int64_t message_pieces(const Schedule& schedule) {
  std::int64_t pieces = 0;
  for (const Op& op : schedule.ops()) {
    if (op.kind == OpKind::multicast) return -1;
    if (op.is_message()) pieces += op.pieces();
  }
  return pieces;
}

/// A message unit for pieces whose count does not fit an int: `count` elements as one.
class LongType {
 public:
  LongType(std::int64_t count, MPI_Datatype type) {
    constexpr std::int64_t chunk = 1 << 30;
    const auto chunks = static_cast<int>(count / chunk);
    const auto rest = static_cast<int>(count % chunk);
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &lb, &extent);
    MPI_Datatype one = MPI_DATATYPE_NULL;
    MPI_Datatype front = MPI_DATATYPE_NULL;
    PMPI_Type_contiguous(static_cast<int>(chunk), type, &one);
    PMPI_Type_contiguous(chunks, one, &front);
    int lengths[]{1, rest};
    MPI_Aint places[]{0, static_cast<MPI_Aint>(chunks) * chunk * extent};
    MPI_Datatype types[]{front, type};
    PMPI_Type_create_struct(2, lengths, places, types, &type_);
    PMPI_Type_commit(&type_);
    PMPI_Type_free(&front);
    PMPI_Type_free(&one);
  }
  ~LongType() { PMPI_Type_free(&type_); }
  LongType(const LongType&) = delete;
  LongType& operator=(const LongType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace

Executor::Executor(Schedule schedule, MPI_Comm comm, bool yield, int tag_base)
    : schedule_(std::move(schedule)), progress_(schedule_), comm_(comm), yield_(yield), tag_base_(tag_base) {
  PMPI_Comm_rank(comm_, &rank_);
  bool encoded = false;
  std::int64_t longest = 0;
  for (OpId id = 0; id < schedule_.ops().size(); ++id) {
    const Op& op = schedule_.ops()[id];
    encoded = encoded || op.encoded;
    if (op.kind == OpKind::multicast) fan_out_[id].fill(0);
    if (op.kind == OpKind::encode) longest = std::max(longest, op.piece_size(0));
  }
  make_room(progress_.max_active_messages(), encoded);
  message_pieces_ = message_pieces(schedule_);
  if (longest > 0) frame_.resize(codec::bound(static_cast<std::size_t>(longest)));
  std::memcpy(&comm_key_, &comm_, std::min(sizeof comm_key_, sizeof comm_));
}

void Executor::use_groups(MulticastGroups& groups, int senders) {
  if (schedule_.groups().empty()) return;
  lanes_ = std::make_unique<MulticastLanes>(schedule_, rank_, groups, senders);
  make_room(progress_.max_active_messages() + lanes_->most_messages(), !statuses_.empty());
  for (OpId id = 0; id < schedule_.ops().size(); ++id) {
    if (schedule_.ops()[id].group >= 0) fan_out_[id].fill(0);
  }
}

void Executor::make_room(std::size_t messages, bool encoded) {
  requests_.resize(messages, MPI_REQUEST_NULL);
  owners_.resize(messages);
  completed_.resize(messages);
  if (encoded) statuses_.resize(messages);
}

int Executor::run(const Binding& binding) {
  int rc = begin(binding);
  // When every message is under way, all that is left is to wait, which the library does best. Only where there are
  // many: it may keep the core meanwhile.
  if (rc == MPI_SUCCESS && active_ >= many_messages && active_ == message_pieces_ && !persistent::active()) {
    rc = PMPI_Waitall(active_, requests_.data(), statuses_.empty() ? MPI_STATUSES_IGNORE : statuses_.data());
    if (rc != MPI_SUCCESS) return rc;
    std::iota(completed_.begin(), completed_.begin() + active_, 0);
    retire(active_);
    rc = start_all();
  }
  while (rc == MPI_SUCCESS && !progress_.done()) {
    // Not done and nothing under way would be a broken schedule, which the in-process verifier excludes; never spin on
    // it.
    if (stuck()) return MPI_ERR_INTERN;
    rc = wait_some();
    if (rc == MPI_SUCCESS) rc = start_all();
  }
  return rc;
}

int Executor::begin(const Binding& binding) {
  binding_ = &binding;
  progress_.reset();
  active_ = 0;
  if (lanes_) lanes_->begin();
  return start_all();
}

int Executor::advance() {
  while (!progress_.done()) {
    if (stuck()) return MPI_ERR_INTERN;
    int count = 0;
    if (const int rc = test_some(count); rc != MPI_SUCCESS) return rc;
    if (count == 0) return MPI_SUCCESS;
    if (const int rc = retire(count); rc != MPI_SUCCESS) return rc;
    if (const int rc = start_all(); rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int Executor::start_all() {
  Progress::Piece piece;
  while (progress_.next(piece)) {
    if (const int rc = start(piece); rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int Executor::start(const Progress::Piece& piece) {
  const Op& op = schedule_.ops()[piece.op];
  if (op.group >= 0 && part(piece.op) != MulticastPart::fan_out) return start_multicast(op, piece);
  if (op.kind == OpKind::multicast) return multicast(op, piece);
  if (op.is_message()) return post(op, piece, op.peer, op.tag, op.kind == OpKind::send);
  const int rc = run_local(op, piece);
  progress_.complete(piece);
  return rc;
}

int Executor::post(const Op& op, const Progress::Piece& piece, int peer, int tag, bool sends) {
  const auto slot = static_cast<std::size_t>(active_);
  // What a multicast's receiver passes on lies where it came to.
  std::byte* at = address(op.kind != OpKind::recv ? op.from_piece(piece.index) : op.to_piece(piece.index));
  std::int64_t count = op.piece_size(piece.index) / binding_->size_bytes;
  MPI_Datatype unit = binding_->type;
  if (op.encoded) {
    // A slot: the frame's length, the frame. What is sent is as long as the frame, what may come as long as the slot.
    unit = MPI_BYTE;
    count = op.piece_size(piece.index) - frame_length_bytes;
    if (sends) std::memcpy(&count, at, frame_length_bytes);
    at += frame_length_bytes;
  }
  if (sends) note_messages();
  const auto post_as = [&](int n, MPI_Datatype type) {
    return sends ? PMPI_Isend(at, n, type, peer, tag_base_ + tag, comm_, &requests_[slot])
                 : PMPI_Irecv(at, n, type, peer, tag_base_ + tag, comm_, &requests_[slot]);
  };
  const int rc = count <= std::numeric_limits<int>::max() ? post_as(static_cast<int>(count), unit)
                                                          : post_as(1, LongType(count, unit).get());
  if (rc != MPI_SUCCESS) return rc;
  owners_[slot] = piece;
  ++active_;
  return MPI_SUCCESS;
}

/// Over point-to-point messages a multicast is a message to each receiver. Receivers take turns to be first, so that
/// the pieces of one multicast keep all their ports busy.
int Executor::multicast(const Op& op, const Progress::Piece& piece) {
  const auto& members = schedule_.groups()[static_cast<std::size_t>(op.group)];
  int& under_way = fan_out_[piece.op][static_cast<std::size_t>(piece.index % Progress::max_window)];
  under_way = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int member = members[(i + static_cast<std::size_t>(piece.index)) % members.size()];
    if (member == rank_) continue;
    if (const int rc = post(op, piece, member, op.tag, true); rc != MPI_SUCCESS) return rc;
    ++under_way;
  }
  if (under_way == 0) progress_.complete(piece);
  return MPI_SUCCESS;
}

/// This rank's first step in a multicast over the group; complete() and advance_multicasts() see to the others.
int Executor::start_multicast(const Op& op, const Progress::Piece& piece) {
  const MulticastPart mine = part(piece.op);
  const MulticastRoles& roles = lanes_->roles(piece.op);
  int& under_way = fan_out_[piece.op][static_cast<std::size_t>(piece.index % Progress::max_window)];
  under_way = 1;
  switch (mine) {
    case MulticastPart::hand_in: return post(op, piece, roles.leader, tag_of_sender(rank_), true);
    case MulticastPart::take: return post(op, piece, roles.leader, tag_of_sender(op.peer), false);
    case MulticastPart::relay: under_way = to_relay; return post(op, piece, op.peer, tag_of_sender(op.peer), false);
    default: break;
  }
  const bool sends = mine == MulticastPart::send;
  lanes_->ready(piece, {address(sends ? op.from_piece(piece.index) : op.to_piece(piece.index)),
                        static_cast<std::size_t>(op.piece_size(piece.index))});
  return sends ? pass_on(op, piece) : MPI_SUCCESS;
}

/// To the followers, but for the one that it is from.
int Executor::pass_on(const Op& op, const Progress::Piece& piece) {
  const int from = op.kind == OpKind::multicast ? rank_ : op.peer;
  int& under_way = fan_out_[piece.op][static_cast<std::size_t>(piece.index % Progress::max_window)];
  for (const int follower : lanes_->roles(piece.op).followers) {
    if (follower == from) continue;
    if (const int rc = post(op, piece, follower, tag_of_sender(from), true); rc != MPI_SUCCESS) return rc;
    ++under_way;
  }
  return MPI_SUCCESS;
}

int Executor::advance_multicasts(bool& moved) {
  moved = false;
  if (!lanes_ || !lanes_->busy()) return MPI_SUCCESS;
  const bool looks_on = active_ > 0 || looks_ < (crowding() <= own_core_crowding ? looks_before_sleep
                                                 : yield_                        ? looks_on_shared_core
                                                                                 : 0);
  ++looks_;
  const std::int64_t patience_ns = looks_on               ? 0
                                   : persistent::active() ? short_patience_ns
                                   : slept_ns_ > 0        ? later_patience_ns
                                                          : packet_patience_ns;
  if (!lanes_->poll(patience_ns)) {
    if (const std::string wrong = lanes_->failure(); !wrong.empty()) {
      warn("multicast: " + wrong);
      return MPI_ERR_OTHER;
    }
    slept_ns_ += patience_ns;
    return patience_ns > 0 && library_is_needed() ? move_library_on() : MPI_SUCCESS;
  }
  Progress::Piece piece;
  while (lanes_->next(piece)) {
    moved = true;
    if (part(piece.op) == MulticastPart::receive) {
      if (const int rc = pass_on(schedule_.ops()[piece.op], piece); rc != MPI_SUCCESS) return rc;
    }
    if (const int rc = complete(piece); rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

/// Slept in vain: who is waited for may itself wait for a message of this rank. At once where there have been any but
/// multicasts; else, for what nobody saw, when it cannot be that somebody is gone: the transport finds that out, and
/// names it.
bool Executor::library_is_needed() const { return messages_noted() || slept_ns_ > 2 * lanes_->lost_after_ns(); }

int Executor::move_library_on() {
  int there = 0;
  return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, MPI_STATUS_IGNORE);
}

int Executor::run_local(const Op& op, const Progress::Piece& piece) {
  const std::int64_t bytes = op.piece_size(piece.index);
  const std::byte* from = address(op.from_piece(piece.index));
  std::byte* to = address(op.to_piece(piece.index));
  if (op.kind == OpKind::encode) return encode(to, from, bytes, piece.index + 1 == op.pieces());
  if (op.kind == OpKind::decode) return decode(to, from, bytes);
  if (bytes == 0) return MPI_SUCCESS;
  if (op.kind == OpKind::copy) return copy(from, to, bytes);
  const std::int64_t count = bytes / binding_->size_bytes;
  constexpr std::int64_t most = 1 << 30;
  for (std::int64_t i = 0; i < count; i += most) {
    const int rc = PMPI_Reduce_local(from + i * binding_->extent_bytes, to + i * binding_->extent_bytes,
                                     static_cast<int>(std::min(most, count - i)), binding_->type, binding_->op);
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int Executor::copy(const std::byte* from, std::byte* to, std::int64_t bytes) {
  if (from == to) return MPI_SUCCESS;
  if (binding_->size_bytes == binding_->extent_bytes) {
    std::memmove(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  // Elements with gaps: the gaps of the destination are the program's and stay as they are.
  const std::int64_t count = bytes / binding_->size_bytes;
  constexpr std::int64_t most = 1 << 30;
  for (std::int64_t i = 0; i < count; i += most) {
    const auto n = static_cast<int>(std::min(most, count - i));
    const int rc =
        PMPI_Sendrecv(from + i * binding_->extent_bytes, n, binding_->type, rank_, copy_tag,
                      to + i * binding_->extent_bytes, n, binding_->type, rank_, copy_tag, comm_, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

/// What this thread encodes for schedules. It keeps nothing of the data, so that each frame can be decoded by itself;
/// it keeps plans, for making one takes longer than encoding a piece ten times.
static codec::Encoder& encoder_of_thread() {
  thread_local codec::Encoder encoder([] {
    codec::LinkOptions options;
    options.history_bytes = 0;
    options.frame.allowed_codecs = framing_state.codecs;
    return options;
  }());
  return encoder;
}

int Executor::encode(std::byte* slot, const std::byte* from, std::int64_t bytes, bool last) {
  const std::int64_t before_ns = processor_ns();
  const auto raw = codec::ConstBytes(from, static_cast<std::size_t>(bytes));
  // What is left after whole pieces has any length: by powers of two, lest every length have plans of its own.
  const codec::Channel channel{comm_key_ ^ binding_->stream << 56, last ? std::bit_ceil(raw.size()) : raw.size(), 0};
  codec::Encoder& encoder = encoder_of_thread();
  if (framing_state.share_bytes_per_s > 0) encoder.set_wire_bytes_per_s(worth_bytes_per_s());
  const codec::Frame frame = encoder.encode(channel, raw, frame_, binding_->element);
  const auto length = static_cast<std::int64_t>(frame.bytes);
  std::memcpy(slot, &length, frame_length_bytes);
  std::byte* body = slot + frame_length_bytes;
  if (frame.in_place) {
    std::memcpy(body, frame.head.data(), frame.head.size());
    if (bytes > 0) std::memcpy(body + frame.head.size(), from, static_cast<std::size_t>(bytes));
  } else {
    std::memcpy(body, frame_.data(), frame.bytes);
  }
  ++collective_coding.pieces;
  collective_coding.encoded += frame.bytes < raw.size() ? 1 : 0;
  collective_coding.bytes += bytes;
  collective_coding.frame_bytes += length;
  collective_coding.encode_ns += processor_ns() - before_ns;
  return MPI_SUCCESS;
}

int Executor::decode(std::byte* to, const std::byte* slot, std::int64_t bytes) {
  std::int64_t length = 0;
  std::memcpy(&length, slot, frame_length_bytes);
  if (length < 0 || length > bytes + encoded_overhead_bytes - frame_length_bytes) return MPI_ERR_TRUNCATE;
  const auto frame = codec::ConstBytes(slot + frame_length_bytes, static_cast<std::size_t>(length));
  const std::int64_t before_ns = processor_ns();
  const codec::Error error = codec::decode(frame, codec::Bytes(to, static_cast<std::size_t>(bytes)));
  collective_coding.decode_ns += processor_ns() - before_ns;
  return error == codec::Error::none ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int Executor::wait_some() {
  int count = 0;
  looks_ = 0;
  slept_ns_ = 0;
  while (true) {
    if (const int rc = test_some(count); rc != MPI_SUCCESS) return rc;
    bool moved = false;
    if (const int rc = advance_multicasts(moved); rc != MPI_SUCCESS) return rc;
    if (count > 0 || moved) break;
    // Nothing moved: let the ranks that share this core move (MPICH's own waits for some of many do not).
    if (persistent::active()) persistent::progress();
    if (yield_) sched_yield();
  }
  return retire(count);
}

int Executor::test_some(int& count) {
  count = 0;
  if (active_ == 0) return MPI_SUCCESS;
  return PMPI_Testsome(active_, requests_.data(), &count, completed_.data(),
                       statuses_.empty() ? MPI_STATUSES_IGNORE : statuses_.data());
}

int Executor::retire(int count) {
  if (!statuses_.empty()) note_frames(count);
  // Free slots from the highest, so that the last active request can fill each hole.
  std::sort(completed_.begin(), completed_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
    const Progress::Piece piece = owners_[slot];
    --active_;
    requests_[slot] = requests_[static_cast<std::size_t>(active_)];
    owners_[slot] = owners_[static_cast<std::size_t>(active_)];
    requests_[static_cast<std::size_t>(active_)] = MPI_REQUEST_NULL;
    if (const int rc = complete(piece); rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

/// The lengths of frames that came, into their slots: whoever passes them on or decodes them finds it there.
void Executor::note_frames(int count) {
  for (int i = 0; i < count; ++i) {
    const Progress::Piece& piece = owners_[static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)])];
    const Op& op = schedule_.ops()[piece.op];
    if (op.kind != OpKind::recv || !op.encoded) continue;
    int received = 0;
    PMPI_Get_count(&statuses_[static_cast<std::size_t>(i)], MPI_BYTE, &received);
    const std::int64_t length = received;
    std::memcpy(address(op.to_piece(piece.index)), &length, frame_length_bytes);
  }
}

int Executor::complete(const Progress::Piece& piece) {
  const Op& op = schedule_.ops()[piece.op];
  const MulticastPart mine = op.group >= 0 ? part(piece.op) : MulticastPart::fan_out;
  if (op.kind != OpKind::multicast && mine == MulticastPart::fan_out) {
    progress_.complete(piece);
    return MPI_SUCCESS;
  }
  int& under_way = fan_out_[piece.op][static_cast<std::size_t>(piece.index % Progress::max_window)];
  if (under_way == to_relay) {
    under_way = 1;
    lanes_->ready(piece, {address(op.to_piece(piece.index)), static_cast<std::size_t>(op.piece_size(piece.index))});
    return pass_on(op, piece);
  }
  if (--under_way == 0) progress_.complete(piece);
  return MPI_SUCCESS;
}

std::byte* Executor::address(const Range& range) const {
  std::byte* base = binding_->base[static_cast<std::size_t>(range.space)];
  if (binding_->size_bytes == binding_->extent_bytes) return base + range.offset_bytes;
  return base + range.offset_bytes / binding_->size_bytes * binding_->extent_bytes;
}

}  // namespace antiphon::mpi
