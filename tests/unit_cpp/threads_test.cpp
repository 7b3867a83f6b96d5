// SPDX-License-Identifier: Apache-2.0
// Programs call from several threads (MPI_THREAD_MULTIPLE), so the data that calls share (registries, default rules,
// the choice of instruction sets, codecs' libraries) must bear several first users. The thread sanitizer runs this too.
#include <atomic>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/algorithm.hpp"
#include "antiphon/codec.hpp"
#include "antiphon/select.hpp"

using namespace antiphon;

namespace {

constexpr int threads = 6;

/// Lets all threads begin at the same time; returns false if any of them found something wrong.
template <typename Work>
bool all_at_once(Work work) {
  std::latch begin(threads);
  std::atomic<bool> right{true};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      begin.arrive_and_wait();
      if (!work(i)) right = false;
    });
  }
  for (std::thread& thread : running) thread.join();
  return right;
}

}  // namespace

TEST_CASE("threads: choices, schedules and their checks at the same time") {
  CHECK(all_at_once([](int thread) {
    for (const Collective collective : {Collective::bcast, Collective::alltoall, Collective::allreduce}) {
      Question question;
      question.collective = collective;
      question.ranks = question.nodes = 5 + thread % 2;
      question.bytes = 40000;
      question.mpi = "openmpi";
      const Choice& choice = Rules::defaults().choose_own(question);
      if (choice.algorithm == nullptr) return false;
      for (int rank = 0; rank < question.ranks; ++rank) {
        Problem problem;
        problem.collective = collective;
        problem.size = question.ranks;
        problem.rank = rank;
        problem.bytes = question.bytes;
        problem.parameters = choice.parameters;
        const Schedule schedule = build_schedule(*choice.algorithm, problem);
        if (schedule.ops().empty()) return false;
      }
      if (parse_choice(collective, choice.to_string()).parameters != choice.parameters) return false;
    }
    return true;
  }));
}

TEST_CASE("threads: each its own link of every codec") {
  CHECK(all_at_once([](int thread) {
    std::vector<double> values(3000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0 + 1e-3 * static_cast<double>(i) * (thread + 1);
    const auto raw = std::as_bytes(std::span(values));
    std::vector<std::byte> frame(codec::bound(raw.size()));
    std::vector<std::byte> back(raw.size());
    for (const codec::Id id :
         {codec::Id::automatic, codec::Id::spatial, codec::Id::lz4, codec::Id::zstd, codec::Id::dfcm}) {
      codec::Options options;
      options.codec = id;
      options.allow_in_place = false;
      const codec::Frame made = codec::encode(raw, options, frame);
      if (codec::decode(std::span(frame).first(made.bytes), back) != codec::Error::none) return false;
      if (std::memcmp(back.data(), raw.data(), raw.size()) != 0) return false;
    }
    codec::Encoder encoder;
    codec::Decoder decoder;
    for (int message = 0; message < 4; ++message) {
      values[static_cast<std::size_t>(message)] += 1;
      const codec::Channel channel{7, raw.size(), 0};
      const codec::Frame made = encoder.encode(channel, raw, frame);
      std::vector<std::byte> sent(
          frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(made.in_place ? made.head.size() : made.bytes));
      if (made.in_place) sent.insert(sent.end(), raw.begin(), raw.end());
      if (decoder.decode(sent, back) != codec::Error::none) return false;
      if (std::memcmp(back.data(), raw.data(), raw.size()) != 0) return false;
    }
    return true;
  }));
}
