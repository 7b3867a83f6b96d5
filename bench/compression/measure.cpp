// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

namespace antiphon::codec_bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int least_rounds = 3, most_rounds = 200;
constexpr std::size_t cold_messages = 24;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The cost of two readings of the clock, which would make short messages seem slower.
double clock_s() {
  static const double least = [] {
    double best = 1;
    for (int i = 0; i < 1000; ++i) {
      const auto begin = Clock::now();
      best = std::min(best, seconds_since(begin));
    }
    return best;
  }();
  return least;
}

template <typename Do>
double timed(Do&& what) {
  const auto begin = Clock::now();
  what();
  return std::max(seconds_since(begin) - clock_s(), 1e-9);
}

std::size_t longest(const MessageTrace& trace) {
  std::size_t bytes = 0;
  for (const Message& message : trace.messages) bytes = std::max(bytes, message.payload.size());
  return bytes;
}

std::uint64_t all_bytes(const MessageTrace& trace) {
  std::uint64_t bytes = 0;
  for (const Message& message : trace.messages) bytes += message.payload.size();
  return bytes;
}

/// Reads more than any cache holds, so that the caches contain nothing else.
void empty_caches() {
  static std::vector<std::uint64_t> ballast((std::size_t{48} << 20) / 8, 1);
  volatile std::uint64_t sum = std::accumulate(ballast.begin(), ballast.end(), std::uint64_t{0});
  (void)sum;
}

bool same(const Message& message, const std::vector<std::byte>& raw) {
  return message.payload.empty() || std::memcmp(message.payload.data(), raw.data(), message.payload.size()) == 0;
}

/// Sessions and buffers of one contender in one cell.
class Runner {
 public:
  Runner(const MessageTrace& trace, const Contender& contender, double wire_bytes_per_s)
      : trace_(trace), contender_(contender), wire_bytes_per_s_(wire_bytes_per_s), raw_(longest(trace) + 64) {
    measured_.contender = contender.name;
  }
  void round(Mode mode, int number);
  Measured result() && {
    measured_.encode_least_s = std::accumulate(encode_least_.begin(), encode_least_.end(), 0.0);
    measured_.decode_least_s = std::accumulate(decode_least_.begin(), decode_least_.end(), 0.0);
    return std::move(measured_);
  }

 private:
  void sent_round(bool first);
  void start_warm();
  std::pair<double, double> warm_pass(bool check);
  void warm_round(int number);
  void cold_round(int number);
  void note(double encode_s, double decode_s) {
    measured_.encode_s.push_back(encode_s), measured_.decode_s.push_back(decode_s);
  }
  std::unique_ptr<Session> make() const { return contender_.make(contender_, wire_bytes_per_s_); }

  const MessageTrace& trace_;
  const Contender& contender_;
  double wire_bytes_per_s_;
  std::vector<std::byte> raw_, frame_;
  std::unique_ptr<Session> session_;
  std::vector<std::size_t> places_, frame_sizes_;
  std::vector<double> encode_least_, decode_least_;
  Measured measured_;
};

void Runner::round(Mode mode, int number) {
  if (measured_.wrong) return;
  if (mode == Mode::sent) sent_round(number == 0);
  if (mode == Mode::warm) warm_round(number);
  if (mode == Mode::cold) cold_round(number);
}

void Runner::sent_round(bool first) {
  const auto session = make();
  frame_.resize(bound(raw_.size()));
  double encode_sum = 0, decode_sum = 0;
  for (std::size_t m = 0; m < trace_.messages.size(); ++m) {
    const Message& message = trace_.messages[m];
    std::size_t bytes = 0;
    const double encode_s = timed([&] { bytes = session->encode(message, frame_.data()); });
    session->deliver(message, raw_.data());
    bool right = false;
    const double decode_s = timed([&] { right = session->decode(message, frame_.data(), bytes, raw_.data()); });
    encode_sum += encode_s, decode_sum += decode_s;
    if (first) {
      measured_.wrong |= !right || !same(message, raw_);
      measured_.frame_bytes += bytes;
      encode_least_.push_back(encode_s), decode_least_.push_back(decode_s);
    }
    encode_least_[m] = std::min(encode_least_[m], encode_s);
    decode_least_[m] = std::min(decode_least_[m], decode_s);
  }
  measured_.messages = trace_.messages.size();
  measured_.raw_bytes = all_bytes(trace_);
  note(encode_sum, decode_sum);
}

void Runner::start_warm() {
  session_ = make();
  frame_sizes_.resize(trace_.messages.size());
  for (const Message& message : trace_.messages) {
    places_.push_back(frame_.size());
    frame_.resize(frame_.size() + bound(message.payload.size()));
  }
  encode_least_ = decode_least_ = {1e9};
}

/// Encodes all messages, then decodes each. Returns the seconds of both.
std::pair<double, double> Runner::warm_pass(bool check) {
  const std::size_t count = trace_.messages.size();
  const double encode_s = timed([&] {
    for (std::size_t m = 0; m < count; ++m)
      frame_sizes_[m] = session_->encode(trace_.messages[m], frame_.data() + places_[m]);
  });
  double decode_s = 0;
  for (std::size_t m = 0; m < count; ++m) {
    // Each frame is decoded where it lies. The network would put uncompressed bytes in place, so that is not timed.
    session_->deliver(trace_.messages[m], raw_.data());
    bool right = false;
    decode_s += timed([&] {
      right = session_->decode(trace_.messages[m], frame_.data() + places_[m], frame_sizes_[m], raw_.data());
    });
    if (check) measured_.wrong |= !right || !same(trace_.messages[m], raw_);
  }
  return {encode_s, decode_s};
}

void Runner::warm_round(int number) {
  if (number == 0) {
    start_warm();
    warm_pass(true);
    measured_.messages = trace_.messages.size();
    measured_.raw_bytes = all_bytes(trace_);
    for (const std::size_t bytes : frame_sizes_) measured_.frame_bytes += bytes;
    return;
  }
  warm_pass(false);  // the other contenders have used the caches meanwhile
  const auto [encode_s, decode_s] = warm_pass(false);
  encode_least_[0] = std::min(encode_least_[0], encode_s);
  decode_least_[0] = std::min(decode_least_[0], decode_s);
  note(encode_s, decode_s);
}

/// A round is one message; the next rounds take the others.
void Runner::cold_round(int number) {
  const Message& message = trace_.messages[static_cast<std::size_t>(number) % trace_.messages.size()];
  frame_.resize(bound(raw_.size()));
  const auto session = make();
  std::size_t bytes = 0;
  empty_caches();
  const double encode_s = timed([&] { bytes = session->encode(message, frame_.data()); });
  session->deliver(message, raw_.data());
  empty_caches();
  bool right = false;
  const double decode_s = timed([&] { right = session->decode(message, frame_.data(), bytes, raw_.data()); });
  measured_.wrong |= !right || !same(message, raw_);
  measured_.messages += 1;
  measured_.raw_bytes += message.payload.size();
  measured_.frame_bytes += bytes;
  encode_least_.push_back(encode_s), decode_least_.push_back(decode_s);
  note(encode_s, decode_s);
}

}  // namespace

const char* name(Mode mode) { return mode == Mode::sent ? "sent" : mode == Mode::warm ? "warm" : "cold"; }

std::vector<Measured> measure(const MessageTrace& trace, Mode mode, const std::vector<const Contender*>& contenders,
                              double budget_s, double wire_bytes_per_s) {
  std::vector<Runner> runners;
  for (const Contender* contender : contenders) runners.emplace_back(trace, *contender, wire_bytes_per_s);
  const auto begin = Clock::now();
  const int limit = mode == Mode::cold ? static_cast<int>(std::min(cold_messages, trace.messages.size())) : most_rounds;
  const int enough = std::min(limit, least_rounds + (mode == Mode::warm));
  for (int round = 0; round < limit && (round < enough || seconds_since(begin) < budget_s); ++round) {
    // Each round starts with another contender.
    for (std::size_t i = 0; i < runners.size(); ++i)
      runners[(i + static_cast<std::size_t>(round)) % runners.size()].round(mode, round);
  }
  std::vector<Measured> results;
  for (Runner& runner : runners) results.push_back(std::move(runner).result());
  return results;
}

}  // namespace antiphon::codec_bench
