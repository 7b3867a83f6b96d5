// SPDX-License-Identifier: Apache-2.0
// Runs codecs on files of captured messages, in the order of sending, through links like those of a program:
//   streams [--codec NAME] [--isa NAME] [--piece BYTES] [--rounds N] [--rate BYTES_PER_S] [--json] FILE…
// Decodes and compares every message. A speed is the sum over messages of the shortest time in any round.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "antiphon/codec.hpp"

using namespace antiphon::codec;

namespace {

struct Message {
  Element element;
  int destination;
  int tag;
  std::vector<std::byte> bytes;
};

struct Arguments {
  Id codec = Id::automatic;
  Isa isa = Isa::best;
  std::size_t piece_bytes = default_piece_bytes;
  int rounds = 3;
  double rate = 12.5e6;
  bool json = false;
  bool stateless = false;
  std::vector<std::string> files;
};

Element element_of(std::uint32_t type) {
  constexpr Element elements[] = {Element::unknown, Element::f64, Element::f32,
                                  Element::i32,     Element::i64, Element::unknown};
  return type < 6 ? elements[type] : Element::unknown;
}

std::vector<Message> read_messages(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<Message> messages;
  for (std::size_t at = 0; at + 32 <= all.size();) {
    std::uint32_t head[6];
    std::uint64_t bytes = 0;
    std::memcpy(head, all.data() + at, sizeof head);
    std::memcpy(&bytes, all.data() + at + 24, sizeof bytes);
    if (head[0] != 0x4d534731 || bytes > all.size() - at - 32) break;
    const auto* payload = reinterpret_cast<const std::byte*>(all.data() + at + 32);
    messages.push_back(
        {element_of(head[1]), static_cast<int>(head[4]), static_cast<int>(head[5]), {payload, payload + bytes}});
    at += 32 + bytes;
  }
  return messages;
}

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Outcome {
  std::uint64_t raw = 0, framed = 0, bad = 0;
  double encode_s = 0, decode_s = 0;
  Statistics statistics;
};

struct Link {
  Encoder encoder;
  Decoder decoder;
};

/// One pass through all links: encodes, decodes and compares pieces.
class Round {
 public:
  explicit Round(const Arguments& arguments)
      : arguments_(arguments), out_(bound(arguments.piece_bytes)), back_(arguments.piece_bytes) {
    options_.frame.codec = arguments.codec;
    options_.frame.isa = arguments.isa;
    options_.frame.wire_bytes_per_s = arguments.rate;
  }

  /// Returns the times of encoding and of decoding the piece.
  std::pair<double, double> pass(const Message& message, const Channel& channel, ConstBytes raw, Outcome& outcome) {
    Link& link = link_to(message.destination);
    options_.frame.element = message.element;
    const Bytes raw_out(back_.data(), raw.size());
    const double a = now_s();
    const Frame frame = arguments_.stateless ? encode(raw, options_.frame, out_)
                                             : link.encoder.encode(channel, raw, out_, message.element);
    const double b = now_s();
    const ConstBytes body = frame.in_place ? raw : ConstBytes(out_.data() + 8, frame.bytes - 8);
    const Error error =
        arguments_.stateless ? decode(frame.head, body, raw_out) : link.decoder.decode(frame.head, body, raw_out);
    const double c = now_s();
    if (error != Error::none || std::memcmp(raw.data(), raw_out.data(), raw.size()) != 0) ++outcome.bad;
    outcome.raw += raw.size();
    outcome.framed += frame.bytes;
    return {b - a, c - b};
  }

  void add_up(Statistics& total) const {
    for (const auto& [destination, link] : links_) {
      const Statistics& s = link.encoder.statistics();
      total.stored_frames += s.stored_frames;
      total.spatial_frames += s.spatial_frames;
      total.temporal_frames += s.temporal_frames;
      total.repeat_frames += s.repeat_frames;
      total.plans += s.plans;
    }
  }

 private:
  Link& link_to(int destination) {
    const auto found = links_.find(destination);
    if (found != links_.end()) return found->second;
    return links_.emplace(destination, Link{Encoder(options_), Decoder(arguments_.isa)}).first->second;
  }

  const Arguments& arguments_;
  LinkOptions options_;
  std::map<int, Link> links_;
  std::vector<std::byte> out_, back_;
};

Outcome run(const std::vector<Message>& messages, const Arguments& arguments) {
  Outcome outcome;
  std::vector<std::pair<double, double>> shortest;
  for (int n = 0; n < arguments.rounds; ++n) {
    Round round(arguments);
    outcome.raw = outcome.framed = 0;
    std::size_t index = 0;
    for (const Message& message : messages) {
      const Pieces pieces{message.bytes.size(), arguments.piece_bytes};
      for (std::size_t p = 0; p < pieces.count(); ++p, ++index) {
        const ConstBytes raw(message.bytes.data() + pieces.offset(p), pieces.bytes(p));
        const auto took =
            round.pass(message, {message.tag, message.bytes.size(), static_cast<std::uint32_t>(p)}, raw, outcome);
        if (n == 0) shortest.push_back(took);
        shortest[index] = {std::min(shortest[index].first, took.first), std::min(shortest[index].second, took.second)};
      }
    }
    outcome.statistics = {};
    round.add_up(outcome.statistics);
  }
  for (const auto& [encode_s, decode_s] : shortest) outcome.encode_s += encode_s, outcome.decode_s += decode_s;
  return outcome;
}

Isa isa_of(const std::string& wanted) {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (wanted == name(isa)) return isa;
  }
  return Isa::best;
}

Arguments parse(int count, char** values) {
  Arguments a;
  for (int i = 1; i < count; ++i) {
    const std::string option = values[i];
    const auto value = [&] { return i + 1 < count ? values[++i] : ""; };
    if (option == "--codec") {
      a.codec = id_of(value());
    } else if (option == "--isa") {
      a.isa = isa_of(value());
    } else if (option == "--piece") {
      a.piece_bytes = std::strtoull(value(), nullptr, 10);
    } else if (option == "--rounds") {
      a.rounds = std::atoi(value());
    } else if (option == "--rate") {
      a.rate = std::atof(value());
    } else if (option == "--json") {
      a.json = true;
    } else if (option == "--stateless") {
      a.stateless = true;
    } else {
      a.files.push_back(option);
    }
  }
  return a;
}

void print(const std::string& file, double rate, double encode, double decode, const Statistics& s, std::uint64_t bad,
           bool json) {
  std::printf(json ? "{\"file\": \"%s\", \"rate\": %.4f, \"encode_gb_per_s\": %.2f, \"decode_gb_per_s\": %.2f, "
                     "\"stored\": %llu, \"spatial\": %llu, \"temporal\": %llu, \"repeat\": %llu, \"plans\": %llu, "
                     "\"bad\": %llu}\n"
                   : "%-28s %8.4f %7.2f %7.2f | %6llu %7llu %8llu %6llu %5llu %3llu\n",
              file.c_str(), rate, encode, decode, static_cast<unsigned long long>(s.stored_frames),
              static_cast<unsigned long long>(s.spatial_frames), static_cast<unsigned long long>(s.temporal_frames),
              static_cast<unsigned long long>(s.repeat_frames), static_cast<unsigned long long>(s.plans),
              static_cast<unsigned long long>(bad));
}

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = parse(count, values);
  double logs = 0;
  bool good = !arguments.files.empty();
  if (!arguments.json)
    std::printf("%-28s %8s %7s %7s | stored spatial temporal repeat plans bad\n", "file", "rate", "enc", "dec");
  for (const std::string& path : arguments.files) {
    const Outcome o = run(read_messages(path), arguments);
    const double rate = static_cast<double>(o.raw) / static_cast<double>(std::max<std::uint64_t>(o.framed, 1));
    const double encode = static_cast<double>(o.raw) / o.encode_s / 1e9,
                 decode = static_cast<double>(o.raw) / o.decode_s / 1e9;
    logs += std::log(rate);
    good = good && o.bad == 0;
    const Statistics& s = o.statistics;
    print(path.substr(path.rfind('/') + 1), rate, encode, decode, s, o.bad, arguments.json);
  }
  const double mean = std::exp(logs / static_cast<double>(std::max<std::size_t>(arguments.files.size(), 1)));
  std::printf(arguments.json ? "{\"file\": \"%s\", \"rate\": %.4f}\n" : "%-28s %8.4f\n", "geometric mean", mean);
  return good ? 0 : 1;
}
