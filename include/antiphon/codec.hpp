// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// Lossless compression of messages. A frame is a head of 8 bytes and a body, and needs nothing else to say how it is
/// decoded (docs/reference/codecs). There are two interfaces:
///  - encode/decode handle single frames and have no state.
///  - Encoder/Decoder are the two ends of a link, which is all that one sender sends to one receiver on one
///    communicator. They remember what pays on each channel of the link and predict a message from earlier ones.
namespace antiphon::codec {

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

inline constexpr std::size_t frame_overhead_bytes = 8;  ///< the head; a frame is never longer than head + raw bytes
inline constexpr std::size_t default_piece_bytes = 64 << 10;

/// The room that an encoder's output buffer must have: encoders write ahead, but a frame has at most raw + 8 bytes.
constexpr std::size_t bound(std::size_t raw_bytes) { return raw_bytes + raw_bytes / 32 + 1024; }

/// The codec named in a frame's head.
enum class Id : std::uint8_t { stored = 0, spatial = 1, temporal = 2, dfcm = 3, lz4 = 4, zstd = 5, automatic = 15 };
inline constexpr int id_count = 16;

/// The type of the elements if the caller knows it. It saves probing and never changes what is decoded.
enum class Element : std::uint8_t { unknown, f64, f32, i64, i32, i16, i8 };

/// Instruction sets. All write the same bytes. If this machine lacks the one named, it uses the best that it has.
enum class Isa : std::uint8_t { best, portable, avx2, avx512 };

enum class Error : std::uint8_t {
  none,
  truncated,          ///< shorter than a head
  damaged,            ///< the checksum of the head or the structure of the body is wrong
  version,            ///< the frame has a later format version
  unavailable,        ///< this machine lacks the codec's library (lz4, zstd); see available_codecs()
  wrong_size,         ///< the output buffer is not raw_bytes() long
  missing_reference,  ///< a frame that this one builds on was not decoded by this Decoder (yet)
  wrong_reference,    ///< the reference differs from the sender's
};
const char* text(Error error);

struct Options {
  Element element = Element::unknown;
  Id codec = Id::automatic;
  Isa isa = Isa::best;
  /// Size of the whole message if this is a piece of it, else 0. Rows of a grid divide it.
  std::size_t message_bytes = 0;
  /// Rate at which the wire carries this message: a slow codec is chosen only where the wire is slower still.
  double wire_bytes_per_s = 12.5e6;
  /// A shorter encoded frame is padded to this size, the threshold from which the receiver expects frames.
  std::size_t minimum_frame_bytes = 0;
  /// A stored frame may be left as head + the caller's buffer (Frame::in_place); otherwise it is copied to the output.
  bool allow_in_place = true;
  /// Codecs that the receiver has (its available_codecs()).
  std::uint32_t allowed_codecs = ~std::uint32_t{0};
};

struct Frame {
  Id codec = Id::stored;
  bool in_place = false;  ///< send `head`, then the caller's own buffer; the output holds only the head
  std::size_t bytes = 0;  ///< size on the wire, head included
  std::array<std::byte, frame_overhead_bytes> head{};
};

/// Has bit 1 << Id set for each codec that works in this process. Two sides exchange it before the first frame.
std::uint32_t available_codecs();
/// The codecs that need no library, so that every process has them.
inline constexpr std::uint32_t built_in_codecs =
    1u << static_cast<int>(Id::stored) | 1u << static_cast<int>(Id::spatial) | 1u << static_cast<int>(Id::temporal) |
    1u << static_cast<int>(Id::dfcm);
const char* name(Id id);  ///< "stored", "spatial", …; "?" for an unknown id
const char* name(Isa isa);
Id id_of(const char* name);  ///< Id::automatic for "auto" and for unknown names
Isa best_isa();

/// Encodes a single frame. `out` has bound(raw.size()) bytes and does not overlap `raw`.
Frame encode(ConstBytes raw, const Options& options, Bytes out);

/// Decodes a frame of encode(). Any input gives an Error or a message, and the function touches nothing outside the
/// two spans.
Error decode(ConstBytes frame, Bytes raw_out, Isa isa = Isa::best);
/// Does the same for a head apart from its body. The body of a stored frame may already lie in `raw_out`: then the
/// function copies nothing.
Error decode(ConstBytes head, ConstBytes body, Bytes raw_out, Isa isa = Isa::best);

/// A checksum of any bytes, for what carries frames: it differs wherever only one word of 8 bytes does, and otherwise
/// almost surely. Frames have no checksum of their own.
std::uint64_t checksum(ConstBytes bytes);

/// Uncompressed size according to the head (the frame's first 8 bytes or more), or not_a_frame if its check fails.
inline constexpr std::uint64_t not_a_frame = ~std::uint64_t{0};
std::uint64_t raw_bytes(ConstBytes head);
Id codec_of(ConstBytes head);

/// How a message is cut into pieces of `piece_bytes`. Each is a frame of its own, and the last is the shortest.
struct Pieces {
  std::size_t message_bytes = 0;
  std::size_t piece_bytes = default_piece_bytes;
  std::size_t count() const { return message_bytes == 0 ? 1 : (message_bytes + piece_bytes - 1) / piece_bytes; }
  std::size_t offset(std::size_t piece) const { return piece * piece_bytes; }
  std::size_t bytes(std::size_t piece) const {
    const std::size_t left = message_bytes - offset(piece);
    return left < piece_bytes ? left : piece_bytes;
  }
};

/// What distinguishes the sequences of messages on a link.
struct Channel {
  std::int64_t tag = 0;
  std::uint64_t message_bytes = 0;  ///< size of the whole message
  std::uint32_t piece = 0;
};

struct LinkOptions {
  Options frame;  ///< for every message; each message may give its own element hint
  /// Memory for earlier messages at each end. The sender decides what is kept and the receiver follows. 0 disables
  /// temporal prediction.
  std::size_t history_bytes = std::size_t{32} << 20;
};

struct Statistics {
  std::uint64_t messages = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t stored_frames = 0;
  std::uint64_t spatial_frames = 0;
  std::uint64_t temporal_frames = 0;
  std::uint64_t repeat_frames = 0;  ///< lz4 and zstd
  std::uint64_t codec_ns = 0;       ///< in encode() or decode(), including planning
  std::uint64_t plans = 0;          ///< searches for a better encoding
  std::uint64_t history_bytes = 0;  ///< held now
};

/// The sending end of a link. Not thread-safe: messages must be encoded in the order in which they are sent.
class Encoder {
 public:
  explicit Encoder(const LinkOptions& options = {});
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  /// Encodes the next message, or piece of one, of that channel. `out` is as for codec::encode().
  Frame encode(const Channel& channel, ConstBytes raw, Bytes out);
  Frame encode(const Channel& channel, ConstBytes raw, Bytes out, Element element);
  /// Tells the encoder that its share of the wire has changed; planning uses this rate from now on.
  void set_wire_bytes_per_s(double rate);
  const Statistics& statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The receiving end of a link. Not thread-safe. Frames of one channel must be decoded in the order in which they were
/// sent; frames of different channels may come in any order. A frame that comes too early gives
/// Error::missing_reference and may be tried again.
class Decoder {
 public:
  explicit Decoder(Isa isa = Isa::best);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  Error decode(ConstBytes frame, Bytes raw_out);
  Error decode(ConstBytes head, ConstBytes body, Bytes raw_out);
  /// Says that the frame of this head (8 bytes) will never be decoded, so that nothing waits for it.
  void skip(ConstBytes head);
  const Statistics& statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace antiphon::codec
