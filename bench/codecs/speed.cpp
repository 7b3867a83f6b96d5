// SPDX-License-Identifier: Apache-2.0
// Measures the speed of the codecs with warm caches, on one channel with a known encoding. Reports the shortest time of
// a message, or of eight short ones together.
//   antiphon-codec-speed [--isa NAME] [--json]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "antiphon/codec.hpp"

using namespace antiphon::codec;

namespace {

using Buffer = std::vector<std::byte>;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Records of five fields that are rough in space, move slowly, and have noise in their last bits.
Buffer field(std::size_t bytes, double time) {
  std::mt19937_64 rough(7), random(static_cast<unsigned>(time));
  std::vector<double> x(bytes / 8);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double place = static_cast<double>(i / 5) * 1e-3 + 1e-4 * static_cast<double>(rough() % 1000);
    x[i] = (static_cast<double>(i % 5) + 2) * std::sin(place + time * 1e-4 + static_cast<double>(i % 5)) +
           1e-10 * static_cast<double>(random() % 1000);
  }
  Buffer result(bytes);
  std::memcpy(result.data(), x.data(), x.size() * 8);
  return result;
}

Buffer noise(std::size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  Buffer result(bytes);
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(result.data() + i, &word, 8);
  }
  return result;
}

struct Row {
  double rate = 0, encode_s = 1e9, decode_s = 1e9;
  Id codec = Id::stored;
};

Row measure(Id codec, Isa isa, std::size_t bytes, bool random, int messages) {
  LinkOptions options;
  options.frame.codec = codec;
  options.frame.isa = isa;
  options.frame.wire_bytes_per_s = 1.25e9;
  Encoder encoder(options);
  Decoder decoder(isa);
  // Eight short messages are timed together, because reading the clock takes as long as coding a kilobyte.
  const std::size_t batch = bytes <= 16 << 10 ? 8 : 1;
  std::vector<Buffer> raw(batch), out(batch, Buffer(bound(bytes))), back(batch, Buffer(bytes));
  std::vector<Frame> frames(batch);
  Row row;
  for (int step = 0; step < messages; step += static_cast<int>(batch)) {
    for (std::size_t i = 0; i < batch; ++i) {
      const int number = step + static_cast<int>(i);
      raw[i] = random ? noise(bytes, static_cast<unsigned>(number)) : field(bytes, codec == Id::temporal ? number : 0);
    }
    const double a = now_s();
    for (std::size_t i = 0; i < batch; ++i) frames[i] = encoder.encode({1, bytes, 0}, raw[i], out[i], Element::f64);
    const double b = now_s();
    Error error = Error::none;
    const double c = now_s();
    for (std::size_t i = 0; i < batch && error == Error::none; ++i) {
      const ConstBytes body =
          frames[i].in_place ? ConstBytes(raw[i]) : ConstBytes(out[i].data() + 8, frames[i].bytes - 8);
      error = decoder.decode(frames[i].head, body, back[i]);
    }
    const double d = now_s();
    if (error != Error::none || back != raw) std::abort();
    if (step < messages / 2) continue;
    row.encode_s = std::min(row.encode_s, (b - a) / static_cast<double>(batch));
    row.decode_s = std::min(row.decode_s, (d - c) / static_cast<double>(batch));
    row.codec = frames.back().codec;
    row.rate = static_cast<double>(bytes) / static_cast<double>(frames.back().bytes);
  }
  return row;
}

}  // namespace

int main(int count, char** values) {
  Isa isa = Isa::best;
  bool json = false;
  for (int i = 1; i < count; ++i) {
    const std::string argument = values[i];
    if (argument == "--json") json = true;
    for (const Isa each : {Isa::portable, Isa::avx2, Isa::avx512}) {
      if (argument == name(each)) isa = each;
    }
  }
  if (!json)
    std::printf("%-9s %-9s %9s %8s %9s %9s %8s %8s\n", "isa", "codec", "bytes", "rate", "enc us", "dec us", "enc GB/s",
                "dec GB/s");
  struct Case {
    Id codec;
    bool random;
  };
  for (const Case c : {Case{Id::spatial, false}, Case{Id::temporal, false}, Case{Id::automatic, true}}) {
    for (const std::size_t bytes : {64u, 1024u, 4096u, 16384u, 65536u, 262144u, 1048576u}) {
      const Row r = measure(c.codec, isa, bytes, c.random, bytes > 100000 ? 40 : 800);
      const double g = static_cast<double>(bytes) * 1e-9;
      std::printf(json ? "{\"isa\": \"%s\", \"codec\": \"%s\", \"bytes\": %zu, \"rate\": %.3f, \"encode_us\": %.3f, "
                         "\"decode_us\": %.3f, "
                         "\"encode_gb_per_s\": %.2f, \"decode_gb_per_s\": %.2f}\n"
                       : "%-9s %-9s %9zu %8.3f %9.3f %9.3f %8.2f %8.2f\n",
                  name(isa), name(r.codec), bytes, r.rate, r.encode_s * 1e6, r.decode_s * 1e6, g / r.encode_s,
                  g / r.decode_s);
    }
  }
  return 0;
}
