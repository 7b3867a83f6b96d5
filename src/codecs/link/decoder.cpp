// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "codecs/frame/frame.hpp"
#include "codecs/link/dfcm_streams.hpp"
#include "codecs/link/runs.hpp"
#include "codecs/link/stopwatch.hpp"
#include "codecs/link/window.hpp"

namespace antiphon::codec {

/// Keeps the messages that frames mark as kept, under the frames' numbers. It needs no other knowledge of the link.
class Decoder::State final : public ReferenceSource {
 public:
  explicit State(Isa isa) : kernel_(kernel_of(isa)) {}

  Error decode(ConstBytes head, ConstBytes body, Bytes raw_out) {
    const Stopwatch coding(statistics_.messages, raw_out.size());
    Parts parts;
    Error error = take_apart(head, body, parts);
    if (error != Error::none) return error;
    if (parts.head.codec == Id::dfcm && parts.head.kept) return stream(parts, raw_out, coding);
    number_ = number_of(parts.head.sequence);
    error = decode_parts(parts, raw_out, parts.head.kept ? this : nullptr, kernel_, work_of_thread());
    if (error != Error::none) return error;
    if (parts.head.kept) {
      window_.keep(number_, raw_out);
      forget(number_, parts.reach);
    }
    statistics_.codec_ns += coding.ns();
    count(parts, raw_out.size());
    return Error::none;
  }

  void skip(ConstBytes head_bytes) {
    Head head;
    if (read_head(head_bytes, head) != Error::none || !head.kept || head.codec == Id::dfcm) return;
    const std::uint64_t number = number_of(head.sequence);
    window_.mark_unusable(number);
    forget(number, 0);
  }

  Error find(std::uint16_t distance, std::size_t bytes, const std::uint8_t*& message, std::uint16_t& hash) override {
    if (distance > number_) return Error::missing_reference;
    const Window::Entry* entry = window_.find(number_ - distance);
    if (entry == nullptr || !entry->usable || entry->bytes != bytes) return Error::missing_reference;
    message = entry->data.get();
    hash = entry->hash;
    return Error::none;
  }

  const Statistics& statistics() const { return statistics_; }

 private:
  Error stream(const Parts& parts, Bytes raw_out, const Stopwatch& coding) {
    const Error error = dfcm_.decode(parts, raw_out);
    statistics_.history_bytes = dfcm_.held_bytes();
    statistics_.codec_ns += coding.ns();
    if (error == Error::none) count(parts, raw_out.size());
    return error;
  }

  /// Extends the 16 bits on the wire to the number nearest to the next expected one.
  std::uint64_t number_of(std::uint16_t sequence) const {
    const auto ahead = static_cast<std::int16_t>(sequence - static_cast<std::uint16_t>(next_));
    if (ahead < 0 && static_cast<std::uint64_t>(-ahead) > next_) return sequence;
    return next_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead));
  }

  /// Drops what no frame can refer to after the arrival of this one, whose reach says what later ones refer to.
  void forget(std::uint64_t number, std::uint16_t reach) {
    std::uint64_t floor = reach > 0 && number > reach ? number - reach : 0;
    if (number > next_) {
      const Runs::Range useless = early_.add(number, floor);
      for (std::uint64_t n = useless.begin; n < useless.end; ++n) window_.mark_unusable(n);
      floor = 0;
    } else if (number == next_) {
      ++next_;
    }
    if (window_.end() > 2 * Window::max_reach) {
      floor = std::max(floor, window_.end() - 2 * Window::max_reach);
      next_ = std::max(next_, floor);
    }
    for (Runs::Run run; early_.take_first(next_, run);) {
      next_ = std::max(next_, run.end);
      floor = std::max(floor, run.floor);
    }
    window_.drop_below(floor);
    next_ = std::max(next_, window_.begin());
    statistics_.history_bytes = window_.held_bytes();
  }

  void count(const Parts& parts, std::size_t raw_bytes) {
    ++statistics_.messages;
    statistics_.raw_bytes += raw_bytes;
    statistics_.frame_bytes += frame_overhead_bytes + parts.body.size();
    const Id codec = parts.head.codec;
    ++(codec == Id::stored     ? statistics_.stored_frames
       : codec == Id::spatial  ? statistics_.spatial_frames
       : codec == Id::temporal ? statistics_.temporal_frames
                               : statistics_.repeat_frames);
  }

  const Kernel& kernel_;
  DfcmDecoder dfcm_;
  Window window_;
  Runs early_;                // kept frames after next_
  std::uint64_t next_ = 0;    // number of the first kept frame that has not arrived
  std::uint64_t number_ = 0;  // number of the frame that is being decoded, or of the next one if it is not kept
  Statistics statistics_;
};

Decoder::Decoder(Isa isa) : state_(std::make_unique<State>(isa)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

Error Decoder::decode(ConstBytes frame, Bytes raw_out) {
  if (frame.size() < frame_overhead_bytes) return Error::truncated;
  return state_->decode(frame.first(frame_overhead_bytes), frame.subspan(frame_overhead_bytes), raw_out);
}
Error Decoder::decode(ConstBytes head, ConstBytes body, Bytes raw_out) { return state_->decode(head, body, raw_out); }
void Decoder::skip(ConstBytes head) { state_->skip(head); }
const Statistics& Decoder::statistics() const { return state_->statistics(); }

}  // namespace antiphon::codec
