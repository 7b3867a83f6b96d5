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

constexpr int incast_tag = 11;
/// How long to wait for reports of duplicates: longer than any port's queue.
constexpr int report_ms = 30;
constexpr double wide_step = 4;

struct Outcome {
  double seconds = 0;  ///< until the last byte had come
  bool lost = false;
};

/// A sender and its receiver.
struct Flow {
  int from = 0;
  int to = 0;
};

/// Several senders with one receiver or one each. All ranks take part in the agreement.
class Incast {
 public:
  Incast(World& world, std::vector<Flow> flows, std::int64_t piece, double rate)
      : world_(world), flows_(std::move(flows)), piece_(piece), rate_bytes_per_s_(rate) {}

  /// All senders send `bytes` each at once. Each does so alone before, so that its TCP window is open.
  Outcome attempt(std::int64_t bytes) {
    world_.quiet_barrier();
    for (const Flow& flow : flows_) exchange({flow}, bytes);
    const double before = sends() ? lost_segments() : -1;
    const double took_ns = exchange(flows_, bytes);
    world_.quiet_barrier();
    // Segments that were sent twice pass the same queue, and are reported only then.
    for (int ms = 0; ms < report_ms && before >= 0 && lost_segments() > before; ++ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return judge(bytes, took_ns, before < 0 ? 0 : lost_segments() - before);
  }

 private:
  /// Nodes that do not send may lose segments of others' traffic.
  [[nodiscard]] bool sends() const {
    return std::any_of(flows_.begin(), flows_.end(), [&](const Flow& flow) { return flow.from == world_.rank(); });
  }

  /// Each sender sends all its bytes when it is asked.
  void send_all(int receiver, std::int64_t bytes) {
    MPI_Recv(nullptr, 0, MPI_CHAR, receiver, incast_tag, world_.comm(), MPI_STATUS_IGNORE);
    std::vector<MPI_Request> requests;
    for (std::int64_t at = 0; at < bytes; at += piece_) {
      requests.emplace_back();
      MPI_Isend(world_.out(bytes) + at, static_cast<int>(std::min(piece_, bytes - at)), MPI_CHAR, receiver, incast_tag,
                world_.comm(), &requests.back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  std::vector<MPI_Request> post(int sender, std::int64_t bytes, char* to) {
    std::vector<MPI_Request> requests;
    for (std::int64_t at = 0; at < bytes; at += piece_) {
      requests.emplace_back();
      MPI_Irecv(to + at, static_cast<int>(std::min(piece_, bytes - at)), MPI_CHAR, sender, incast_tag, world_.comm(),
                &requests.back());
    }
    return requests;
  }

  /// Runs all flows at once. Returns a receiver's time, and 0 on the other ranks.
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
      if (flow.to == world_.rank()) MPI_Send(nullptr, 0, MPI_CHAR, flow.from, incast_tag, world_.comm());
    }
    for (const Flow& flow : flows) {
      if (flow.from == world_.rank()) send_all(flow.to, bytes);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return requests.empty() ? 0 : now_ns() - start;
  }

  /// Packets were lost if some that had not come were sent again. Where that is unknown, a time as long as a timeout
  /// means a loss.
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

/// Makes `trials` attempts, and as many again after a loss. Returns true if at most one attempt lost packets, because a
/// receiver's report of a duplicate may be lost too.
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

/// Finds how many bytes may be in transit to one rank, or through one link, before packets are lost. receivers: one, or
/// one per sender; senders: all, half of them, …, down to `least` (2); piece (8192): length of a message; rate: bytes
/// per second of the shared link; from, to: range of total bytes to search; trials (5); budget.
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
    // The first search covers the range in wide steps from below: a loss costs much, and large losses say nothing
    // about small ones.
    double total = low;
    for (; total <= high && time_left(); total *= wide_step) {
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
