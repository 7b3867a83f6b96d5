// SPDX-License-Identifier: Apache-2.0
#include "compress/outgoing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <limits>
#include <new>
#include <vector>

#include "codecs/frame/head.hpp"
#include "compress/cost.hpp"
#include "compress/damage.hpp"
#include "compress/device_messages.hpp"
#include "compress/framing.hpp"
#include "compress/losses.hpp"
#include "compress/mark.hpp"
#include "compress/messages.hpp"
#include "job/clock.hpp"
#include "job/devices.hpp"
#include "job/progress_hook.hpp"

namespace antiphon::mpi {

namespace {

struct SidePost {
  MPI_Request request;
  Buffer data;
};
/// It is not held while the library runs, since its progress may send messages that are held, and so come here again.
std::mutex side_mutex;
std::vector<SidePost> side_posts;
std::atomic<std::uint32_t> side_number{0};

std::uint64_t channel_key(int tag, std::int64_t bytes) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(tag)) << 32 | static_cast<std::uint32_t>(bytes);
}

/// Tells whether the library will take these arguments, and whether a receiver looks for a mark.
bool may_be_framed(const SendArguments& m, TypeInfo& info) {
  if (m.count <= 0 || m.peer < 0 || m.tag < 0 || m.tag > framing_state.most_tag || m.type == MPI_DATATYPE_NULL)
    return false;
  if (m.info != nullptr) {
    info = *m.info;
  } else {
    int size = 0;
    if (PMPI_Type_size(m.type, &size) != MPI_SUCCESS) return false;
    if (size >= 0 && size * m.count < framing_state.least_frame_bytes) return false;
    if (m.buffer == MPI_IN_PLACE || !inspect(m.type, info)) return false;
  }
  if (m.buffer == nullptr && info.contiguous) return false;
  const std::int64_t bytes = info.size_bytes * m.count;
  return bytes >= framing_state.least_frame_bytes && bytes <= std::numeric_limits<int>::max();
}

/// Reads how the message begins, from as few elements as hold a mark. Returns false if elements are so long that all of
/// them may as well be packed.
bool read_mark(const SendArguments& m, const TypeInfo& info, Mark& mark) {
  mark = Mark::none;
  if (info.contiguous) return mark = mark_of(m.buffer), true;
  if (info.layout && m.buffer != MPI_BOTTOM)
    return mark = mark_of(static_cast<const std::byte*>(m.buffer) + info.layout->first_bytes), true;
  const std::int64_t elements = std::min(m.count, static_cast<std::int64_t>(mark_bytes) / info.size_bytes + 1);
  std::array<std::byte, 512> little;
  if (elements * info.size_bytes > static_cast<std::int64_t>(little.size())) return false;
  if (pack(m.buffer, elements, m.type, info, little.data()) == MPI_SUCCESS) mark = mark_of(little.data());
  return true;
}

/// Tells whether a message in a GPU's memory begins with a mark.
bool begins_with_mark(SendArguments m, const TypeInfo& info) {
  m.count = std::min(m.count, static_cast<std::int64_t>(mark_bytes) / info.size_bytes + 1);
  const Buffer beginning = fetch_elements(m.buffer, m.count, info);
  if (!beginning) return false;
  m.buffer = elements_in(beginning, info);
  Mark mark = Mark::none;
  return !read_mark(m, info, mark) || mark != Mark::none;
}

/// Open MPI sends the first 64 KiB of a message with gaps at once, but asks the receiver first for one without gaps
/// (its protocol for remote memory); with many ranks on a core that takes milliseconds. UCX hands long messages without
/// gaps to the network at once, more than a switch's port holds. So what the program sends with gaps keeps one gap.
Wire with_gap(std::byte* data, std::size_t bytes) {
  constexpr std::size_t shortest = 32 << 10;
  if (bytes < shortest) return {data, static_cast<int>(bytes)};
  std::memcpy(data + bytes, data + bytes - gap_bytes, gap_bytes);
  return {data, static_cast<int>(bytes), true};
}

/// Returns the message in one piece, or null if the library cannot pack it.
const std::byte* in_one_piece(const SendArguments& m, const TypeInfo& info, Parcel& parcel) {
  if (info.contiguous) return static_cast<const std::byte*>(m.buffer);
  parcel.packed = Buffer(static_cast<std::size_t>(m.count * info.size_bytes) + gap_bytes);
  return pack(m.buffer, m.count, m.type, info, parcel.packed.data()) == MPI_SUCCESS ? parcel.packed.data() : nullptr;
}

/// Makes the program's message with another beginning; the original beginning travels in a side message, before it.
Wire tagged(const std::byte* raw, std::size_t bytes, int world_peer, const std::byte* head, Parcel& parcel) {
  SidePost post{MPI_REQUEST_NULL, Buffer(sizeof(SideMessage))};
  auto* side = reinterpret_cast<SideMessage*>(post.data.data());
  std::memset(side, 0, sizeof *side);
  std::memcpy(side->first, raw, tagged_bytes);
  if (head != nullptr) std::memcpy(side->head, head, sizeof side->head);
  parcel.frame = Buffer(bytes);
  std::byte* const wire = parcel.frame.data();
  std::memcpy(wire + tagged_bytes, raw + tagged_bytes, bytes - tagged_bytes);
  put_mark(wire, Mark::tagged);
  const std::uint32_t number = side_number++;
  std::memcpy(wire + mark_bytes, &number, sizeof number);
  side->number = number;
  const int code =
      PMPI_Isend(side, sizeof *side, MPI_BYTE, world_peer, side_tag(number), framing_state.side, &post.request);
  if (code == MPI_SUCCESS) {
    const std::lock_guard lock(side_mutex);
    side_posts.push_back(std::move(post));
  }
  return {wire, static_cast<int>(bytes), false, code};
}

/// Returns a kept frame's head as that of a stored one, so that the receiver keeps the message under the same number.
std::array<std::byte, codec::frame_overhead_bytes> as_stored(const codec::Frame& frame) {
  codec::Head head;
  codec::read_head(frame.head, head);
  head.codec = codec::Id::stored;
  head.padded = false;
  return codec::bytes_of(head);
}

/// Makes the message travel as it is, although there is no memory to encode it. One that a receiver would take for a
/// frame cannot be sent. The encoder may have counted it, so the link does without from now on.
Wire without_memory(const SendArguments& m, const TypeInfo& info, OutLink& link, Parcel& parcel) {
  link.encoder.reset();
  parcel = Parcel();
  Mark mark = Mark::none;
  if (read_mark(m, info, mark) && mark == Mark::none) return {};
  return {.code = MPI_ERR_NO_MEM};
}

bool is_kept(const codec::Frame& frame) {
  codec::Head head;
  return codec::read_head(frame.head, head) == codec::Error::none && head.kept;
}

}  // namespace

bool worth_tracking(const SendArguments& message, TypeInfo& info) {
  return may_be_framed(message, info) && Messages::of(message.comm) != nullptr;
}

int post(const Wire& wire, const SendArguments& m, MPI_Request* request) {
  if (!wire.has_gap) return native::isend(m.mode, wire.data, wire.bytes, MPI_BYTE, m.peer, m.tag, m.comm, request);
  const int lengths[]{wire.bytes - gap_bytes, gap_bytes};
  const MPI_Aint places[]{0, wire.bytes};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  PMPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
  PMPI_Type_commit(&type);
  const int result = native::isend(m.mode, wire.data, 1, type, m.peer, m.tag, m.comm, request);
  PMPI_Type_free(&type);
  return result;
}

void reap_side_messages(bool wait) {
  if (progress_hook::forbids_progress()) return;
  std::vector<SidePost> posts;
  {
    const std::lock_guard lock(side_mutex);
    posts.swap(side_posts);
  }
  std::erase_if(posts, [&](SidePost& post) {
    int done = 1;
    if (wait) {
      PMPI_Wait(&post.request, MPI_STATUS_IGNORE);
    } else {
      PMPI_Test(&post.request, &done, MPI_STATUS_IGNORE);
    }
    return done != 0;
  });
  const std::lock_guard lock(side_mutex);
  std::move(posts.begin(), posts.end(), std::back_inserter(side_posts));
}

namespace outgoing {

/// Encodes one message on its link; the caller holds the link's lock.
class Encoding {
 public:
  Encoding(const SendArguments& m, Messages& messages, OutLink& link, const TypeInfo& info, Parcel& parcel)
      : m_(m), messages_(messages), link_(link), info_(info), parcel_(parcel), bytes_(m.count * info.size_bytes) {}

  /// Returns an empty Wire (data is null) if the message is to travel as it is.
  Wire run() {
    ++link_.counts.messages;
    ++of_size().messages;
    link_.counts.bytes += static_cast<std::uint64_t>(bytes_);
    Wire wire = make();
    link_.counts.wire_bytes +=
        wire.data != nullptr ? static_cast<std::uint64_t>(wire.bytes) : static_cast<std::uint64_t>(bytes_);
    return wire;
  }

 private:
  Wire make() {
    // A probe takes frames out of the library, and that must not complete a synchronous send.
    if (link_.encoder == nullptr || messages_.sends_plain() || m_.mode == SendMode::synchronous) return plain();
    if (bytes_ < framing_state.least_bytes) return plain();
    const double worth = worth_bytes_per_s();
    if (!framing_state.always && !can_pay(worth)) return plain();
    Policy& policy = policy_of_channel();
    if (!framing_state.always && (policy.pauses() || !(policy.pays() || trial_is_allowed()))) return plain();
    const std::byte* raw = in_one_piece(m_, info_, parcel_);
    if (raw == nullptr) return {};
    return encoded(raw, policy, worth);
  }

  Wire plain() {
    Mark mark = Mark::none;
    if (read_mark(m_, info_, mark) && mark == Mark::none) return {};
    const std::byte* raw = in_one_piece(m_, info_, parcel_);
    return raw == nullptr ? Wire{} : unencoded(raw);
  }

  Wire unencoded(const std::byte* raw) {
    if (mark_of(raw) != Mark::none) return tag(raw, nullptr);
    // The message is already packed, so the library need not do that again.
    return info_.contiguous ? Wire{} : with_gap(parcel_.packed.data(), static_cast<std::size_t>(bytes_));
  }

  Wire encoded(const std::byte* raw, Policy& policy, double worth) {
    const auto bytes = static_cast<std::size_t>(bytes_);
    parcel_.frame = Buffer(mark_bytes + codec::bound(bytes) + frame_step + gap_bytes);
    std::byte* const out = parcel_.frame.data();
    if (link_.remembers && has_reported_loss(messages_.world_rank(m_.peer))) forget();
    link_.encoder->set_wire_bytes_per_s(worth);
    const std::uint64_t plans = link_.encoder->statistics().plans;
    const std::int64_t before_ns = processor_ns();
    const codec::Channel channel{.tag = m_.tag, .message_bytes = bytes};
    const codec::Frame frame =
        link_.encoder->encode(channel, {raw, bytes}, {out + mark_bytes, codec::bound(bytes)}, info_.element);
    const std::int64_t spent_ns = processor_ns() - before_ns;
    const bool planned = link_.encoder->statistics().plans != plans;
    const bool shorter = frame.codec != codec::Id::stored && framed_length(frame.bytes) <= bytes;
    judge(policy, shorter ? framed_length(frame.bytes) : bytes, spent_ns, planned, worth);
    if (shorter) {
      ++link_.counts.encoded;
      ++of_size().encoded;
      const std::size_t length = put_around(out, frame.bytes);
      damage_for_test({out, length});
      return info_.contiguous ? Wire{out, static_cast<int>(length)} : with_gap(out, length);
    }
    return is_kept(frame) ? tag(raw, as_stored(frame).data()) : unencoded(raw);
  }

  /// Makes no later message build on earlier ones, because the peer has lost one.
  void forget() {
    link_.encoder = std::make_unique<codec::Encoder>(link_options(0));
    link_.remembers = false;
  }

  Wire tag(const std::byte* raw, const std::byte* head) {
    reap_side_messages(false);
    return tagged(raw, static_cast<std::size_t>(bytes_), messages_.world_rank(m_.peer), head, parcel_);
  }

  SizeCounts& of_size() { return link_.counts.sizes[SizeCounts::class_of(static_cast<std::uint64_t>(bytes_))]; }

  Policy& policy_of_channel() {
    constexpr std::size_t most = 4096;
    if (link_.policies.size() > most) link_.policies.clear();
    return link_.policies[channel_key(m_.tag, bytes_)];
  }

  /// Judges in processor time; `worth` says what the wire's time counts for. Plans become ever rarer, so the channel is
  /// judged by what its messages take without them.
  void judge(Policy& policy, std::size_t wire_bytes, std::int64_t encoding_ns, bool planned, double worth) {
    const double saved_s = static_cast<double>(static_cast<std::size_t>(bytes_) - wire_bytes) / worth;
    if (!planned) encoding_pace.note(bytes_, encoding_ns);
    const double usual_s = planned ? 1e-9 * encoding_pace.ns_for(bytes_) : 1e-9 * static_cast<double>(encoding_ns);
    const double decoding_s = saved_s > 0 ? 1e-9 * decoding_pace.ns_for(bytes_) : 0;
    const double gain_s = saved_s - 1e-9 * static_cast<double>(encoding_ns) - decoding_s;
    link_.counts.encode_ns += static_cast<std::uint64_t>(encoding_ns);
    // Wire seconds for each second of processor time.
    const double gain_of_wire_s = gain_s * worth / framing_state.share_bytes_per_s;
    link_.counts.saved_s += gain_of_wire_s;
    of_size().saved_s += gain_of_wire_s;
    policy.learn(saved_s, usual_s + decoding_s);
    if (!policy.pays() && gain_s < 0) note_loss(-gain_s);
  }

  const SendArguments& m_;
  Messages& messages_;
  OutLink& link_;
  const TypeInfo& info_;
  Parcel& parcel_;
  std::int64_t bytes_;
};

Prepared::Prepared(const SendArguments& message, Parcel& parcel, bool waits) {
  TypeInfo info;
  if (!may_be_framed(message, info)) return;
  Messages* messages = Messages::of(message.comm);
  if (messages == nullptr || message.peer >= messages->peers()) return;
  SendArguments near = message;
  Buffer fetched;
  if (is_device_memory(message.buffer)) {
    // The library moves it better than a codec could, unless a receiver would take it for a frame.
    if (!begins_with_mark(message, info)) return;
    fetched = fetch_elements(message.buffer, message.count, info);
    if (!fetched) return;
    near.buffer = elements_in(fetched, info);
  }
  OutLink& link = messages->to(message.peer);
  lock_ = waits ? std::unique_lock(link.mutex) : std::unique_lock(link.mutex, std::try_to_lock);
  comes_too_early_ = !lock_;
  if (comes_too_early_) return;
  try {
    wire_ = Encoding(near, *messages, link, info, parcel).run();
  } catch (const std::bad_alloc&) {
    wire_ = without_memory(near, info, link, parcel);
  }
}

}  // namespace outgoing
}  // namespace antiphon::mpi
