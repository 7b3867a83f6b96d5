// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// Lossless compression of messages. A frame is a head of 8 bytes and a body; it says by itself how to decode it
/// (docs/reference/codecs). Two ways in:
///  - encode/decode: one frame by itself, no state;
///  - Encoder/Decoder: the two ends of a link (everything one sender sends one receiver on one communicator). They
///  remember
///    what pays for each channel of the link, and predict a message from earlier ones.
namespace antiphon::codec {

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

inline constexpr std::size_t frame_overhead_bytes = 8;  ///< the head; a frame is never longer than head + raw bytes
inline constexpr std::size_t default_piece_bytes = 64 << 10;

/// Room that an encoder's output buffer must have (encoders write ahead; the frame itself is at most raw + 8).
constexpr std::size_t bound(std::size_t raw_bytes) { return raw_bytes + raw_bytes / 32 + 1024; }

/// The codec named in a frame's head.
enum class Id : std::uint8_t { stored = 0, spatial = 1, temporal = 2, dfcm = 3, lz4 = 4, zstd = 5, automatic = 15 };
inline constexpr int id_count = 16;

/// What the elements are, as far as the caller knows; a hint that saves probing and never changes what is decoded.
enum class Element : std::uint8_t { unknown, f64, f32, i64, i32, i16, i8 };

/// Instruction sets; all write the same bytes. One that this machine lacks counts as the best it has.
enum class Isa : std::uint8_t { best, portable, avx2, avx512 };

enum class Error : std::uint8_t {
  none,
  truncated,          ///< shorter than a head
  damaged,            ///< the head's check, or the body's structure, does not hold
  version,            ///< of a later format version
  unavailable,        ///< the codec exists, its library (lz4, zstd) does not here; see available_codecs()
  wrong_size,         ///< the output buffer is not raw_bytes() long
  missing_reference,  ///< a frame that this one builds on was not decoded by this Decoder (yet)
  wrong_reference,    ///< the named reference holds something else than the sender's
};
const char* text(Error error);

struct Options {
  Element element = Element::unknown;
  Id codec = Id::automatic;
  Isa isa = Isa::best;
  /// Of the whole message, where this is a piece of one; 0: it is the whole. Rows of a grid divide it.
  std::size_t message_bytes = 0;
  /// What this message's share of the wire carries: a slow codec is chosen only where the wire is slower still.
  double wire_bytes_per_s = 12.5e6;
  /// An encoded frame shorter than this is padded to it (the threshold from which the receiver expects frames).
  std::size_t minimum_frame_bytes = 0;
  /// A stored frame may be left as head + the caller's buffer (Frame::in_place); else it is copied to the output.
  bool allow_in_place = true;
  /// Codecs that the receiver has (its available_codecs()).
  std::uint32_t allowed_codecs = ~std::uint32_t{0};
};

struct Frame {
  Id codec = Id::stored;
  bool in_place = false;  ///< send `head`, then the caller's own buffer; the output holds the head alone
  std::size_t bytes = 0;  ///< on the wire, head included
  std::array<std::byte, frame_overhead_bytes> head{};
};

/// Bit 1 << Id of each codec that works in this process; two sides exchange them before the first frame.
std::uint32_t available_codecs();
/// Those that need no library: every process has them.
inline constexpr std::uint32_t built_in_codecs =
    1u << static_cast<int>(Id::stored) | 1u << static_cast<int>(Id::spatial) | 1u << static_cast<int>(Id::temporal) |
    1u << static_cast<int>(Id::dfcm);
const char* name(Id id);  ///< "stored", "spatial", …; "?" for none
const char* name(Isa isa);
Id id_of(const char* name);  ///< Id::automatic for "auto", and for a name that is none
Isa best_isa();

/// One frame by itself. `out` has bound(raw.size()) bytes and does not overlap `raw`.
Frame encode(ConstBytes raw, const Options& options, Bytes out);

/// Decodes a frame of encode(). Any bytes whatever give an Error or a message; nothing outside the two spans is
/// touched.
Error decode(ConstBytes frame, Bytes raw_out, Isa isa = Isa::best);
/// The same with the head apart from the body. The body of a stored frame may already lie in `raw_out`: then nothing is
/// copied.
Error decode(ConstBytes head, ConstBytes body, Bytes raw_out, Isa isa = Isa::best);

/// Uncompressed size as the head (the frame's first 8 bytes or more) says; not_a_frame where its check does not hold.
inline constexpr std::uint64_t not_a_frame = ~std::uint64_t{0};
std::uint64_t raw_bytes(ConstBytes head);
Id codec_of(ConstBytes head);

/// How a message is cut: pieces of `piece_bytes`, each a frame by itself; the last is the shortest.
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

/// What tells the streams of a link apart.
struct Channel {
  std::int64_t tag = 0;
  std::uint64_t message_bytes = 0;  ///< of the whole message
  std::uint32_t piece = 0;
};

struct LinkOptions {
  Options frame;  ///< for every message; the element hint can be given anew with each
  /// Memory for earlier messages at each end; the sender decides what is kept, the receiver follows. 0: no temporal
  /// prediction.
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
  std::uint64_t codec_ns = 0;       ///< in encode() or decode(), planning included
  std::uint64_t plans = 0;          ///< plans made
  std::uint64_t history_bytes = 0;  ///< now held
};

/// The sending end of a link. Not thread-safe: messages are encoded in the order in which they are sent.
class Encoder {
 public:
  explicit Encoder(const LinkOptions& options = {});
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  /// Encodes the next message, or piece of one, of that channel. `out` as for codec::encode().
  Frame encode(const Channel& channel, ConstBytes raw, Bytes out);
  Frame encode(const Channel& channel, ConstBytes raw, Bytes out, Element element);
  /// The wire's share has changed: plans are made for this one from now on.
  void set_wire_bytes_per_s(double rate);
  const Statistics& statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The receiving end of a link. Not thread-safe. Frames of one channel are decoded in the order in which they were
/// sent; frames of different channels in any order. A frame that comes too early gives Error::missing_reference and may
/// be tried again.
class Decoder {
 public:
  explicit Decoder(Isa isa = Isa::best);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  Error decode(ConstBytes frame, Bytes raw_out);
  Error decode(ConstBytes head, ConstBytes body, Bytes raw_out);
  /// The frame of this head (8 bytes) will never be decoded: nothing waits for it any longer.
  void skip(ConstBytes head);
  const Statistics& statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace antiphon::codec
