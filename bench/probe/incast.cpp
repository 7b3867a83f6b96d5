// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "experiments.hpp"
#include "loss.hpp"
#include "statistics.hpp"

namespace probe {

namespace {

constexpr int tag = 11;
/// Longer than any port's queue.
constexpr int report_ms = 30;

struct Outcome {
  double seconds = 0;  ///< until the last byte had come
  bool lost = false;
};

/// A sender and its receiver.
struct Flow {
  int from = 0;
  int to = 0;
};

/// Some senders, one receiver or one for each; every rank takes part in the agreement.
class Incast {
 public:
  Incast(World& world, std::vector<Flow> flows, std::int64_t piece, double rate)
      : world_(world), flows_(std::move(flows)), piece_(piece), rate_bytes_per_s_(rate) {}

  /// All senders at once send `bytes` each. Before, each does so alone: their TCP windows have opened by then.
  Outcome attempt(std::int64_t bytes) {
    world_.quiet_barrier();
    for (const Flow& flow : flows_) exchange({flow}, bytes);
    const double before = lost_segments();
    const double took_ns = exchange(flows_, bytes);
    world_.quiet_barrier();
    // What was sent twice comes through the same queue, and is reported only then.
    for (int ms = 0; ms < report_ms && before >= 0 && lost_segments() > before; ++ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return judge(bytes, took_ns, before < 0 ? 0 : lost_segments() - before);
  }

 private:
  /// Who is asked sends all.
  void send_all(int receiver, std::int64_t bytes) {
    MPI_Recv(nullptr, 0, MPI_CHAR, receiver, tag, world_.comm(), MPI_STATUS_IGNORE);
    std::vector<MPI_Request> requests;
    for (std::int64_t at = 0; at < bytes; at += piece_) {
      requests.emplace_back();
      MPI_Isend(world_.out(bytes) + at, static_cast<int>(std::min(piece_, bytes - at)), MPI_CHAR, receiver, tag,
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

  /// All flows at once; how long a receiver's took, 0 at all others.
  double exchange(const std::vector<Flow>& flows, std::int64_t bytes) {
    std::vector<MPI_Request> requests;
    char* to = world_.in(bytes * static_cast<std::int64_t>(flows.size()));
    for (const Flow& flow : flows) {
      if (flow.to != world_.rank()) continue;
      const auto some = post(flow.from, bytes, to);
      requests.insert(requests.end(), some.begin(), some.end());
      to += bytes;
    }
    const double start = now_ns();
    for (const Flow& flow : flows) {
      if (flow.to == world_.rank()) MPI_Send(nullptr, 0, MPI_CHAR, flow.from, tag, world_.comm());
    }
    for (const Flow& flow : flows) {
      if (flow.from == world_.rank()) send_all(flow.to, bytes);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return requests.empty() ? 0 : now_ns() - start;
  }

  /// Packets were lost if some were sent again that had not come; where that cannot be known, if it took as long as a
  /// timeout does.
  Outcome judge(std::int64_t bytes, double took_ns, double lost_here) const {
    const auto all = world_.gather({took_ns, lost_here});
    std::vector<double> said(2);
    for (const auto& of_rank : all) {
      said[0] = std::max(said[0], of_rank[0] * 1e-9);
      said[1] += std::max(of_rank[1], 0.0);
    }
    const double expected_s = static_cast<double>(bytes) * static_cast<double>(flows_.size()) / rate_bytes_per_s_;
    const bool lost = said[1] > 0 || said[0] > 2 * expected_s + 0.1;
    return {world_.agree(said[0]), world_.agree(static_cast<std::int64_t>(lost)) != 0};
  }

  World& world_;
  std::vector<Flow> flows_;
  std::int64_t piece_;
  double rate_bytes_per_s_;
};

/// `trials` attempts, and as many again after a loss; true if packets were lost in one of them at most: what receivers
/// report as sent twice may itself be lost.
bool all_arrive(World& world, Incast& incast, std::size_t senders, std::int64_t total, int trials,
                const std::string& label) {
  std::vector<double> seconds;
  int lost = 0;
  for (int i = 0; i < trials * (1 + lost) && lost < 2; ++i) {
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

/// How many bytes may be under way to one rank, or through one link, before packets are lost. receivers: one, or one
/// for each sender; senders: tried are all of them, half of them, …, down to `least` (2); piece (8192): the messages'
/// length; rate: bytes per second of what they share; from, to: total bytes that are searched between; trials (5);
/// budget.
void incast(World& world, const Task& task) {
  const auto senders = task.numbers("senders", "1");
  const auto receivers = task.numbers("receivers", "0");
  const auto least = static_cast<std::size_t>(task.number("least", 2));
  const int trials = static_cast<int>(task.number("trials", 5));
  const Budget budget(task.real("budget", 10));
  for (std::size_t count = senders.size(); count >= least; count = std::min(count / 2, count - 1)) {
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < count; ++i) {
      flows.push_back({static_cast<int>(senders[i]), static_cast<int>(receivers[i % receivers.size()])});
    }
    Incast incast(world, flows, task.number("piece", 8192), task.real("rate", 1e9));
    double low = static_cast<double>(task.number("from", 16384)),
           high = static_cast<double>(task.number("to", 2097152));
    const auto arrive = [&](double total) {
      return all_arrive(world, incast, count, static_cast<std::int64_t>(total), trials, task.text("label", ""));
    };
    const auto time_left = [&] { return world.agree(static_cast<std::int64_t>(budget.left_s() > 0)) != 0; };
    // All of the range at first in steps of two from below: a loss is costly, and large ones say nothing about small
    // ones.
    double total = low;
    for (; total <= high && time_left(); total *= 2) {
      if (!arrive(total)) break;
      low = total;
    }
    high = std::min(high, total);
    while (high > 1.08 * low && time_left()) {
      const double middle = std::sqrt(low * high);
      (arrive(middle) ? low : high) = middle;
    }
  }
}

}  // namespace probe
