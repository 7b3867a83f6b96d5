// SPDX-License-Identifier: Apache-2.0
/// Measures what it gains to cut a message into pieces, so that encoding, sending and decoding overlap. Two ranks run
/// on two nodes:
///
///     antiphon-pieces-openmpi [--data NAME] [--codec NAME] [--bytes N] [--wire BYTES_PER_S] [--rounds N]
///
/// The time of a message runs from the start of encoding to an empty reply after the last byte was decoded. Ways: the
/// message as it is, one frame, and frames of one and two Ethernet segments up to 256 KiB. Encodings are known, and
/// nothing is predicted from earlier messages. Prints one line of JSON for each way.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../compression/message.hpp"
#include "antiphon/codec.hpp"
#include "antiphon/ethernet.hpp"

namespace {

using namespace antiphon;

struct Settings {
  std::string data = "heat";
  codec::Id codec = codec::Id::automatic;
  std::size_t bytes = std::size_t{1} << 20;
  double wire_bytes_per_s = 12.5e6;
  int rounds = 10;
};

/// 0 means the message as it is.
constexpr std::size_t plain = 0;
constexpr std::size_t one_frame = ethernet::payload_bytes;
constexpr std::size_t most_messages = 8;

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--data") s.data = value;
    else if (name == "--codec") s.codec = codec::id_of(value);
    else if (name == "--bytes") s.bytes = std::strtoull(value, nullptr, 10);
    else if (name == "--wire") s.wire_bytes_per_s = std::atof(value);
    else if (name == "--rounds") s.rounds = std::atoi(value);
    else throw std::runtime_error("unknown option " + name);
  }
  return s;
}

/// One way to send, for both ends.
class Way {
 public:
  Way(const Settings& s, std::size_t piece_bytes) : piece_bytes_(piece_bytes), bytes_(s.bytes), encoder_(options(s)) {
    const std::size_t one = piece_bytes == plain ? s.bytes : std::min(piece_bytes, s.bytes);
    pieces_ = (s.bytes + one - 1) / one;
    slot_bytes_ = codec::bound(one);
    slots_.resize(pieces_ * slot_bytes_);
    requests_.resize(pieces_);
    result_.resize(s.bytes);
  }

  double send(const std::vector<std::byte>& message) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double began_s = MPI_Wtime();
    if (piece_bytes_ == plain) {
      MPI_Send(message.data(), static_cast<int>(bytes_), MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      wire_bytes_ += bytes_;
    } else {
      for (std::size_t k = 0; k < pieces_; ++k) send_piece(message, k);
      MPI_Waitall(static_cast<int>(pieces_), requests_.data(), MPI_STATUSES_IGNORE);
    }
    MPI_Recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - began_s;
  }

  /// Returns false if the message came out differently.
  bool receive(const std::vector<std::byte>& expected) {
    MPI_Barrier(MPI_COMM_WORLD);
    bool right = true;
    if (piece_bytes_ == plain) {
      MPI_Recv(result_.data(), static_cast<int>(bytes_), MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      for (std::size_t k = 0; k < pieces_; ++k) {
        MPI_Irecv(slot(k), static_cast<int>(slot_bytes_), MPI_BYTE, 0, static_cast<int>(k), MPI_COMM_WORLD,
                  &requests_[k]);
      }
      for (std::size_t k = 0; k < pieces_; ++k) right &= receive_piece(k);
    }
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    return right && result_ == expected;
  }

  [[nodiscard]] std::size_t wire_bytes() const { return wire_bytes_; }

 private:
  static codec::LinkOptions options(const Settings& s) {
    codec::LinkOptions link;
    link.history_bytes = 0;
    link.frame.codec = s.codec;
    link.frame.wire_bytes_per_s = s.wire_bytes_per_s;
    link.frame.allow_in_place = false;
    return link;
  }
  std::byte* slot(std::size_t k) { return slots_.data() + k * slot_bytes_; }
  [[nodiscard]] std::size_t piece_size(std::size_t k) const {
    return std::min(piece_bytes_, bytes_ - k * piece_bytes_);
  }

  void send_piece(const std::vector<std::byte>& message, std::size_t k) {
    const codec::ConstBytes raw(message.data() + k * piece_bytes_, piece_size(k));
    const codec::Frame frame = encoder_.encode({0, bytes_, static_cast<std::uint32_t>(k)}, raw, {slot(k), slot_bytes_});
    wire_bytes_ += frame.bytes;
    MPI_Isend(slot(k), static_cast<int>(frame.bytes), MPI_BYTE, 1, static_cast<int>(k), MPI_COMM_WORLD, &requests_[k]);
  }

  bool receive_piece(std::size_t k) {
    MPI_Status status;
    int bytes = 0;
    MPI_Wait(&requests_[k], &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const codec::Bytes out(result_.data() + k * piece_bytes_, piece_size(k));
    return codec::decode({slot(k), static_cast<std::size_t>(bytes)}, out) == codec::Error::none;
  }

  std::size_t piece_bytes_, bytes_;
  std::size_t pieces_ = 1, slot_bytes_ = 0, wire_bytes_ = 0;
  codec::Encoder encoder_;
  std::vector<std::byte> slots_, result_;
  std::vector<MPI_Request> requests_;
};

/// Times all messages. The first round searches for encodings and does not count.
int measure(const Settings& s, const std::vector<std::vector<std::byte>>& messages, int rank) {
  const std::vector<std::size_t> sizes{plain,    s.bytes,  one_frame, 2 * one_frame,
                                       16 << 10, 32 << 10, 64 << 10,  256 << 10};
  std::vector<Way> ways;
  for (const std::size_t bytes : sizes) ways.emplace_back(s, bytes);
  std::vector<std::vector<double>> times_s(ways.size());
  bool right = true;
  for (int round = 0; round <= s.rounds; ++round) {
    for (std::size_t w = 0; w < ways.size(); ++w) {
      for (const auto& message : messages) {
        const double time_s = rank == 0 ? ways[w].send(message) : 0;
        if (rank == 1) right &= ways[w].receive(message);
        if (round > 0) times_s[w].push_back(time_s);
      }
    }
  }
  for (std::size_t w = 0; rank == 0 && w < ways.size(); ++w) {
    std::sort(times_s[w].begin(), times_s[w].end());
    const double sent = static_cast<double>(s.bytes * messages.size()) * (s.rounds + 1);
    std::printf(
        "{\"data\": \"%s\", \"bytes\": %zu, \"piece_bytes\": %zu, \"rate\": %.4f, \"median_s\": %.9f, \"least_s\": "
        "%.9f, \"samples\": %zu}\n",
        s.data.c_str(), s.bytes, sizes[w], sent / static_cast<double>(ways[w].wire_bytes()),
        times_s[w][times_s[w].size() / 2], times_s[w][0], times_s[w].size());
  }
  if (!right) std::fprintf(stderr, "antiphon-pieces: a message came out differently\n");
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int result = 2;
  try {
    const Settings settings = parse(argc, argv);
    const codec_bench::MessageTrace trace =
        codec_bench::cut(codec_bench::generate(settings.data, 1), settings.bytes, settings.bytes * most_messages);
    std::vector<std::vector<std::byte>> messages;
    for (const auto& message : trace.messages) {
      if (message.payload.size() == settings.bytes) messages.push_back(message.payload);
    }
    if (messages.empty()) throw std::runtime_error(settings.data + " is shorter than one message");
    result = rank < 2 ? measure(settings, messages, rank) : 0;
  } catch (const std::exception& e) {
    if (rank == 0) std::fprintf(stderr, "antiphon-pieces: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return result;
}
