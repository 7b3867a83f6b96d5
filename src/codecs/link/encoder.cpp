// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "codecs/frame/frame.hpp"
#include "codecs/link/dfcm_streams.hpp"
#include "codecs/link/encoding_chooser.hpp"
#include "codecs/link/stopwatch.hpp"

namespace antiphon::codec {

namespace {

struct ChannelHash {
  std::size_t operator()(const Channel& c) const {
    std::uint64_t h = static_cast<std::uint64_t>(c.tag) * 0x9e3779b97f4a7c15ULL;
    return (h ^ c.message_bytes ^ (h >> 31)) * 0xbf58476d1ce4e5b9ULL >> 7;
  }
};

struct SameChannel {
  bool operator()(const Channel& a, const Channel& b) const {
    return a.tag == b.tag && a.message_bytes == b.message_bytes;
  }
};

constexpr std::size_t max_choosers = 4096;
constexpr std::uint64_t forget_every = 8;  // in kept frames
constexpr std::uint64_t silent_frames = 1024, silent_rounds = 64;

}  // namespace

class Encoder::State {
 public:
  explicit State(const LinkOptions& options) : options_(options), kernel_(kernel_of(options.frame.isa)) {}

  Frame encode(const Channel& channel, ConstBytes raw, Bytes out, Element element) {
    options_.frame.element = element;
    options_.frame.message_bytes = channel.message_bytes;
    if (options_.frame.codec == Id::dfcm && dfcm_.takes(channel.tag, raw.size())) return stream(channel, raw, out);
    EncodingChooser& chooser = chooser_of(channel);
    Work& work = work_of_thread();
    const EncodingChooser::Context context{options_.frame, window_, kernel_, work};
    if (!raw.empty() && chooser.needs_planning(channel.piece)) {
      const Stopwatch planning(0, raw.size());
      chooser.plan(channel.piece, raw, context);
      ++statistics_.plans;
      statistics_.codec_ns += planning.ns();
    }
    const Stopwatch coding(statistics_.messages, raw.size());
    // A kept frame of dfcm would be of a stream.
    const bool fits = options_.frame.codec != Id::dfcm && !raw.empty() &&
                      raw.size() <= std::min<std::uint64_t>(options_.history_bytes / 4, max_kept_bytes);
    const bool kept = fits && chooser.keeps(raw.size());
    ReferenceSet references;
    const Encoding& encoding = chooser.choose(channel.piece, raw, kept, context, references);
    const std::uint64_t number = window_.end();
    const Keep keep{kept, static_cast<std::uint16_t>(number), static_cast<std::uint16_t>(number - window_.begin())};
    const Frame frame = write_frame(raw, encoding, references, keep, options_.frame, work, out);
    chooser.sent(channel.piece, frame, raw.size(), options_.frame.wire_bytes_per_s);
    if (kept) {
      window_.keep(number, raw);
      chooser.kept(channel.piece, number);
      limit_history(number);
    }
    statistics_.codec_ns += coding.ns();
    count(frame, raw.size());
    return frame;
  }

  LinkOptions& options() { return options_; }
  Element default_element() const { return default_element_; }
  const Statistics& statistics() const { return statistics_; }

 private:
  Frame stream(const Channel& channel, ConstBytes raw, Bytes out) {
    const Stopwatch coding(statistics_.messages, raw.size());
    const Frame frame = dfcm_.encode(channel.tag, raw, options_.frame, out);
    statistics_.history_bytes = dfcm_.held_bytes();
    statistics_.codec_ns += coding.ns();
    count(frame, raw.size());
    return frame;
  }

  EncodingChooser& chooser_of(const Channel& channel) {
    if (last_ != nullptr && SameChannel()(last_channel_, channel)) return *last_;
    // A program with ever new tags or sizes would fill the memory. Starting over costs planning, never a wrong frame.
    if (choosers_.size() >= max_choosers && !choosers_.contains(channel)) choosers_.clear();
    last_channel_ = channel;
    last_ = &choosers_[channel];
    return *last_;
  }

  void limit_history(std::uint64_t number) {
    if (number % forget_every == 0) forget();
    while (window_.bytes() > options_.history_bytes || window_.end() - window_.begin() > Window::max_reach) {
      window_.drop_below(window_.begin() + 1);
    }
    statistics_.history_bytes = window_.held_bytes();
  }

  /// Drops messages that no channel wants: the less the window holds, the more of it stays in the caches. Channels that
  /// have been silent for long do not count.
  void forget() {
    std::uint64_t floor = window_.end();
    const std::uint64_t silent = silent_frames + silent_rounds * choosers_.size();
    for (const auto& [channel, chooser] : choosers_) {
      if (chooser.latest() + silent < window_.end()) continue;
      floor = std::min(floor, chooser.oldest_wanted(channel.message_bytes, floor));
    }
    window_.drop_below(floor);
  }

  void count(const Frame& frame, std::size_t raw_bytes) {
    ++statistics_.messages;
    statistics_.raw_bytes += raw_bytes;
    statistics_.frame_bytes += frame.bytes;
    ++(frame.codec == Id::stored     ? statistics_.stored_frames
       : frame.codec == Id::spatial  ? statistics_.spatial_frames
       : frame.codec == Id::temporal ? statistics_.temporal_frames
                                     : statistics_.repeat_frames);
  }

  LinkOptions options_;
  Element default_element_ = options_.frame.element;
  DfcmEncoder dfcm_{options_.history_bytes};
  const Kernel& kernel_;
  std::unordered_map<Channel, EncodingChooser, ChannelHash, SameChannel> choosers_;
  Channel last_channel_;
  EncodingChooser* last_ = nullptr;
  Window window_;
  Statistics statistics_;
};

Encoder::Encoder(const LinkOptions& options) : state_(std::make_unique<State>(options)) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

Frame Encoder::encode(const Channel& channel, ConstBytes raw, Bytes out) {
  return state_->encode(channel, raw, out, state_->default_element());
}
Frame Encoder::encode(const Channel& channel, ConstBytes raw, Bytes out, Element element) {
  return state_->encode(channel, raw, out, element);
}
void Encoder::set_wire_bytes_per_s(double rate) { state_->options().frame.wire_bytes_per_s = rate; }
const Statistics& Encoder::statistics() const { return state_->statistics(); }

}  // namespace antiphon::codec
