// SPDX-License-Identifier: Apache-2.0
// The codec library for C: it checks arguments and throws nothing.
#include "antiphon_codec.h"

#include <cstring>
#include <exception>
#include <new>

#include "antiphon/codec.hpp"
#include "codecs/codec.hpp"

#define ANTIPHON_EXPORT extern "C" __attribute__((visibility("default")))

using namespace antiphon;

struct antiphon_codec_encoder {
  codec::Encoder encoder;
};
struct antiphon_codec_decoder {
  codec::Decoder decoder;
};

namespace {

codec::ConstBytes bytes(const void* data, std::size_t size) { return {static_cast<const std::byte*>(data), size}; }
codec::Bytes bytes(void* data, std::size_t size) { return {static_cast<std::byte*>(data), size}; }

codec::Isa isa_of(std::int32_t isa) { return isa >= 0 && isa <= 3 ? static_cast<codec::Isa>(isa) : codec::Isa::best; }
codec::Element element_of(std::int32_t element) {
  return element >= 0 && element <= 6 ? static_cast<codec::Element>(element) : codec::Element::unknown;
}

codec::LinkOptions options_of(const antiphon_codec_options* given) {
  antiphon_codec_options all;
  antiphon_codec_options_init(&all);
  if (given != nullptr) std::memcpy(&all, given, given->struct_bytes < sizeof all ? given->struct_bytes : sizeof all);
  codec::LinkOptions options;
  options.frame.element = element_of(all.element);
  options.frame.codec =
      all.codec >= 0 && all.codec < codec::id_count ? static_cast<codec::Id>(all.codec) : codec::Id::automatic;
  options.frame.isa = isa_of(all.isa);
  options.frame.allowed_codecs = all.allowed_codecs;
  options.frame.wire_bytes_per_s = all.wire_bytes_per_s;
  options.frame.minimum_frame_bytes = all.minimum_frame_bytes;
  options.frame.allow_in_place = false;
  options.history_bytes = all.history_bytes;
  return options;
}

/// Runs `work` and turns its exception, which can only be exhausted memory, into a code.
template <typename Work>
int guarded(const Work& work) noexcept {
  try {
    return work();
  } catch (const std::exception&) {
    return ANTIPHON_CODEC_NO_MEMORY;
  }
}

int answer(const codec::Frame& frame, std::size_t* frame_bytes, std::int32_t* used_codec) {
  *frame_bytes = frame.bytes;
  if (used_codec != nullptr) *used_codec = static_cast<std::int32_t>(frame.codec);
  return ANTIPHON_CODEC_OK;
}

void copy(const codec::Statistics& from, antiphon_codec_statistics* to) {
  *to = {from.messages,        from.raw_bytes,     from.frame_bytes, from.stored_frames, from.spatial_frames,
         from.temporal_frames, from.repeat_frames, from.codec_ns,    from.plans,         from.history_bytes};
}

bool bad(const void* data, std::size_t size) { return data == nullptr && size > 0; }

}  // namespace

ANTIPHON_EXPORT void antiphon_codec_options_init(antiphon_codec_options* options) {
  if (options == nullptr) return;
  const codec::LinkOptions defaults;
  *options = {sizeof *options,
              0,
              ANTIPHON_CODEC_AUTO,
              0,
              defaults.frame.allowed_codecs,
              defaults.frame.wire_bytes_per_s,
              defaults.frame.minimum_frame_bytes,
              defaults.history_bytes};
}

ANTIPHON_EXPORT size_t antiphon_codec_bound(size_t raw_bytes) { return codec::bound(raw_bytes); }
ANTIPHON_EXPORT uint32_t antiphon_codec_available(void) { return codec::available_codecs(); }
ANTIPHON_EXPORT const char* antiphon_codec_name(int32_t id) { return codec::name(static_cast<codec::Id>(id & 0xff)); }
ANTIPHON_EXPORT const char* antiphon_codec_summary(int32_t id) {
  const codec::Codec* found = id >= 0 && id < codec::id_count ? codec::find_codec(static_cast<codec::Id>(id)) : nullptr;
  return found == nullptr ? "" : found->summary;
}
ANTIPHON_EXPORT int32_t antiphon_codec_id(const char* name) {
  return name == nullptr ? ANTIPHON_CODEC_AUTO : static_cast<int32_t>(codec::id_of(name));
}
ANTIPHON_EXPORT int32_t antiphon_codec_best_isa(void) { return static_cast<int32_t>(codec::best_isa()); }
ANTIPHON_EXPORT const char* antiphon_codec_isa_name(int32_t isa) { return codec::name(isa_of(isa)); }
ANTIPHON_EXPORT const char* antiphon_codec_error(int error) {
  if (error == ANTIPHON_CODEC_NO_MEMORY) return "out of memory";
  if (error == ANTIPHON_CODEC_BAD_ARGUMENT)
    return "a null pointer, or an output buffer shorter than antiphon_codec_bound()";
  return codec::text(static_cast<codec::Error>(error));
}

ANTIPHON_EXPORT int antiphon_codec_encode(const void* raw, size_t raw_bytes, const antiphon_codec_options* options,
                                          void* out, size_t out_bytes, size_t* frame_bytes, int32_t* used_codec) {
  if (bad(raw, raw_bytes) || out == nullptr || frame_bytes == nullptr || out_bytes < codec::bound(raw_bytes)) {
    return ANTIPHON_CODEC_BAD_ARGUMENT;
  }
  return guarded([&] {
    return answer(codec::encode(bytes(raw, raw_bytes), options_of(options).frame, bytes(out, out_bytes)), frame_bytes,
                  used_codec);
  });
}

ANTIPHON_EXPORT int antiphon_codec_decode(const void* frame, size_t frame_bytes, void* out, size_t out_bytes,
                                          int32_t isa) {
  if (bad(frame, frame_bytes) || bad(out, out_bytes)) return ANTIPHON_CODEC_BAD_ARGUMENT;
  return guarded(
      [&] { return static_cast<int>(codec::decode(bytes(frame, frame_bytes), bytes(out, out_bytes), isa_of(isa))); });
}

ANTIPHON_EXPORT uint64_t antiphon_codec_raw_bytes(const void* frame, size_t frame_bytes) {
  return codec::raw_bytes(bytes(frame, frame == nullptr ? 0 : frame_bytes));
}

ANTIPHON_EXPORT int32_t antiphon_codec_of(const void* frame, size_t frame_bytes) {
  return static_cast<int32_t>(codec::codec_of(bytes(frame, frame == nullptr ? 0 : frame_bytes)));
}

ANTIPHON_EXPORT antiphon_codec_encoder* antiphon_codec_encoder_new(const antiphon_codec_options* options) {
  try {
    return new antiphon_codec_encoder{codec::Encoder(options_of(options))};
  } catch (const std::exception&) {
    return nullptr;
  }
}

ANTIPHON_EXPORT void antiphon_codec_encoder_free(antiphon_codec_encoder* encoder) { delete encoder; }

ANTIPHON_EXPORT int antiphon_codec_encoder_encode(antiphon_codec_encoder* encoder, int64_t tag, uint64_t message_bytes,
                                                  uint32_t piece, int32_t element, const void* raw, size_t raw_bytes,
                                                  void* out, size_t out_bytes, size_t* frame_bytes,
                                                  int32_t* used_codec) {
  if (encoder == nullptr || bad(raw, raw_bytes) || out == nullptr || frame_bytes == nullptr ||
      out_bytes < codec::bound(raw_bytes)) {
    return ANTIPHON_CODEC_BAD_ARGUMENT;
  }
  return guarded([&] {
    return answer(encoder->encoder.encode({tag, message_bytes, piece}, bytes(raw, raw_bytes), bytes(out, out_bytes),
                                          element_of(element)),
                  frame_bytes, used_codec);
  });
}

ANTIPHON_EXPORT void antiphon_codec_encoder_statistics(const antiphon_codec_encoder* encoder,
                                                       antiphon_codec_statistics* statistics) {
  if (encoder != nullptr && statistics != nullptr) copy(encoder->encoder.statistics(), statistics);
}

ANTIPHON_EXPORT antiphon_codec_decoder* antiphon_codec_decoder_new(int32_t isa) {
  try {
    return new antiphon_codec_decoder{codec::Decoder(isa_of(isa))};
  } catch (const std::exception&) {
    return nullptr;
  }
}

ANTIPHON_EXPORT void antiphon_codec_decoder_free(antiphon_codec_decoder* decoder) { delete decoder; }

ANTIPHON_EXPORT int antiphon_codec_decoder_decode(antiphon_codec_decoder* decoder, const void* frame,
                                                  size_t frame_bytes, void* out, size_t out_bytes) {
  if (decoder == nullptr || bad(frame, frame_bytes) || bad(out, out_bytes)) return ANTIPHON_CODEC_BAD_ARGUMENT;
  return guarded(
      [&] { return static_cast<int>(decoder->decoder.decode(bytes(frame, frame_bytes), bytes(out, out_bytes))); });
}

ANTIPHON_EXPORT void antiphon_codec_decoder_statistics(const antiphon_codec_decoder* decoder,
                                                       antiphon_codec_statistics* statistics) {
  if (decoder != nullptr && statistics != nullptr) copy(decoder->decoder.statistics(), statistics);
}
