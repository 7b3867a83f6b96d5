// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "experiments.hpp"
#include "loss.hpp"
#include "statistics.hpp"

namespace probe {

namespace {

constexpr int tag = 11;

struct Outcome {
  double seconds = 0;  ///< until the last byte had come
  bool lost = false;
};

/// Some senders, one receiver; every rank takes part in the agreement.
class Incast {
 public:
  Incast(World& world, int receiver, std::vector<std::int64_t> senders, std::int64_t piece, double rate)
      : world_(world),
        receiver_(receiver),
        senders_(std::move(senders)),
        piece_(piece),
        rate_bytes_per_s_(rate),
        sends_(std::find(senders_.begin(), senders_.end(), world.rank()) != senders_.end()) {}

  /// All senders at once send `bytes` each. Before, each does so alone: their TCP windows have opened by then.
  Outcome attempt(std::int64_t bytes) {
    world_.quiet_barrier();
    for (const auto sender : senders_) alone(static_cast<int>(sender), bytes);
    const double before = retransmitted_segments();
    double took_ns = 0;
    if (world_.rank() == receiver_) {
      took_ns = together(bytes);
    } else if (sends_) {
      MPI_Recv(nullptr, 0, MPI_CHAR, receiver_, tag, world_.comm(), MPI_STATUS_IGNORE);
      send_all(bytes);
    }
    world_.quiet_barrier();
    const double again = before < 0 ? 0 : retransmitted_segments() - before;
    return judge(bytes, took_ns, again);
  }

 private:
  void send_all(std::int64_t bytes) {
    std::vector<MPI_Request> requests;
    for (std::int64_t at = 0; at < bytes; at += piece_) {
      requests.emplace_back();
      MPI_Isend(world_.out(bytes) + at, static_cast<int>(std::min(piece_, bytes - at)), MPI_CHAR, receiver_, tag,
                world_.comm(), &requests.back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  std::vector<MPI_Request> post(int sender, std::int64_t bytes, char* to) {
    std::vector<MPI_Request> requests;
    for (std::int64_t at = 0; at < bytes; at += piece_) {
      requests.emplace_back();
      MPI_Irecv(to + at, static_cast<int>(std::min(piece_, bytes - at)), MPI_CHAR, sender, tag, world_.comm(),
                &requests.back());
    }
    return requests;
  }

  void alone(int sender, std::int64_t bytes) {
    if (world_.rank() == sender) {
      MPI_Recv(nullptr, 0, MPI_CHAR, receiver_, tag, world_.comm(), MPI_STATUS_IGNORE);
      send_all(bytes);
    } else if (world_.rank() == receiver_) {
      auto requests = post(sender, bytes, world_.in(bytes));
      MPI_Send(nullptr, 0, MPI_CHAR, sender, tag, world_.comm());
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
  }

  double together(std::int64_t bytes) {
    std::vector<MPI_Request> requests;
    char* to = world_.in(bytes * static_cast<std::int64_t>(senders_.size()));
    for (std::size_t i = 0; i < senders_.size(); ++i) {
      const auto some = post(static_cast<int>(senders_[i]), bytes, to + static_cast<std::int64_t>(i) * bytes);
      requests.insert(requests.end(), some.begin(), some.end());
    }
    const double start = now_ns();
    for (const auto sender : senders_) MPI_Send(nullptr, 0, MPI_CHAR, static_cast<int>(sender), tag, world_.comm());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return now_ns() - start;
  }

  /// Packets were lost if some were sent again; where that cannot be known, if it took as long as a timeout does.
  Outcome judge(std::int64_t bytes, double took_ns, double again) const {
    const auto all = world_.gather({took_ns, again});
    std::vector<double> said(2);
    for (const auto& of_rank : all) {
      said[0] = std::max(said[0], of_rank[0] * 1e-9);
      said[1] += of_rank[1];
    }
    const double expected_s = static_cast<double>(bytes) * static_cast<double>(senders_.size()) / rate_bytes_per_s_;
    const bool lost = said[1] > 0 || said[0] > 2 * expected_s + 0.1;
    return {world_.agree(said[0]), world_.agree(static_cast<std::int64_t>(lost)) != 0};
  }

  World& world_;
  int receiver_;
  std::vector<std::int64_t> senders_;
  std::int64_t piece_;
  double rate_bytes_per_s_;
  bool sends_;
};

/// `trials` attempts; true if packets were lost in one of them at most: a segment is now and then sent again that had
/// arrived, only late.
bool all_arrive(World& world, Incast& incast, std::size_t senders, std::int64_t total, int trials,
                const std::string& label) {
  std::vector<double> seconds;
  int lost = 0;
  for (int i = 0; i < trials && lost < 2; ++i) {
    const Outcome outcome = incast.attempt(total / static_cast<std::int64_t>(senders));
    seconds.push_back(outcome.seconds);
    lost += outcome.lost;
  }
  if (world.is_root()) {
    print_line({{"event", "incast"},
                {"label", label},
                {"senders", senders},
                {"total_bytes", total},
                {"trials", seconds.size()},
                {"lost", lost},
                {"passed", lost < 2},
                {"seconds", seconds}});
  }
  return lost < 2;
}

}  // namespace

/// How many bytes may be under way to one rank before packets are lost. receiver; senders: tried are all of them, half
/// of them, …, down to 2; piece (8192): the messages' length; rate: bytes per second of the receiver's link; from, to:
/// total bytes that are searched between; trials (5); budget.
void incast(World& world, const Task& task) {
  const auto listed = task.numbers("senders", "1");
  const int trials = static_cast<int>(task.number("trials", 5));
  const Budget budget(task.real("budget", 10));
  for (std::size_t count = listed.size(); count >= 2; count = std::min(count / 2, count - 1)) {
    Incast incast(world, static_cast<int>(task.number("receiver", 0)),
                  {listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(count)}, task.number("piece", 8192),
                  task.real("rate", 1e9));
    double low = static_cast<double>(task.number("from", 16384)),
           high = static_cast<double>(task.number("to", 2097152));
    // All of the range at first in steps of two from below: a loss is costly, and large ones say nothing about small
    // ones.
    double total = low;
    for (; total <= high && world.agree(static_cast<std::int64_t>(budget.left_s() > 0)); total *= 2) {
      if (!all_arrive(world, incast, count, static_cast<std::int64_t>(total), trials, task.text("label", ""))) break;
      low = total;
    }
    high = std::min(high, total);
    while (high > 1.08 * low && world.agree(static_cast<std::int64_t>(budget.left_s() > 0))) {
      const double middle = std::sqrt(low * high);
      (all_arrive(world, incast, count, static_cast<std::int64_t>(middle), trials, task.text("label", "")) ? low
                                                                                                           : high) =
          middle;
    }
  }
}

}  // namespace probe
