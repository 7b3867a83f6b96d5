// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>

#include "codecs/codec.hpp"

namespace antiphon::codec {

const char* text(Error error) {
  switch (error) {
    case Error::none: return "no error";
    case Error::truncated: return "shorter than the head of a frame";
    case Error::damaged: return "not a frame, or a damaged one";
    case Error::version: return "a frame of a later format version";
    case Error::unavailable:
      return "the frame's codec needs a library (liblz4.so.1 or libzstd.so.1) that is not installed here";
    case Error::wrong_size: return "the output buffer is not as long as the frame's message";
    case Error::missing_reference: return "the frame builds on an earlier one that was not decoded here";
    case Error::wrong_reference: return "the frame builds on an earlier one that differs from the sender's";
  }
  return "?";
}

const Codec* find_codec(Id id) {
  static const auto table = [] {
    std::array<const Codec*, id_count> by_id{};
    for (const Codec* codec : codecs()) by_id[static_cast<std::size_t>(codec->id)] = codec;
    return by_id;
  }();
  return static_cast<int>(id) < id_count ? table[static_cast<std::size_t>(id)] : nullptr;
}

std::uint32_t available_codecs() {
  std::uint32_t mask = 1u << static_cast<int>(Id::stored);
  for (const Codec* codec : codecs()) {
    if (codec->available()) mask |= 1u << static_cast<int>(codec->id);
  }
  return mask;
}

const char* name(Id id) {
  if (id == Id::stored) return "stored";
  if (id == Id::automatic) return "auto";
  const Codec* codec = find_codec(id);
  return codec == nullptr ? "?" : codec->name;
}

Id id_of(const char* wanted) {
  if (std::strcmp(wanted, "stored") == 0) return Id::stored;
  for (const Codec* codec : codecs()) {
    if (std::strcmp(wanted, codec->name) == 0) return codec->id;
  }
  return Id::automatic;
}

Isa best_isa() {
#if defined(__x86_64__)
  static const Isa best = [] {
    __builtin_cpu_init();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni");
    if (avx512) return Isa::avx512;
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    return avx2 ? Isa::avx2 : Isa::portable;
  }();
  return best;
#else
  return Isa::portable;
#endif
}

const char* name(Isa isa) {
  switch (isa) {
    case Isa::best: return name(best_isa());
    case Isa::portable: return "portable";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
  }
  return "?";
}

const Kernel& kernel_of(Isa isa) {
  const Isa best = best_isa();
  if (isa == Isa::best || static_cast<int>(isa) > static_cast<int>(best)) isa = best;
  return isa == Isa::avx512 ? kernel_avx512 : isa == Isa::avx2 ? kernel_avx2 : kernel_portable;
}

Work& work_of_thread() {
  thread_local const auto work = std::make_unique<Work>();
  return *work;
}

}  // namespace antiphon::codec
