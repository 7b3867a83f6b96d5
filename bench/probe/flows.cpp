// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "../split.hpp"
#include "experiments.hpp"
#include "look.hpp"

namespace probe {

namespace {

constexpr int flow_tag = 23;
/// A flow is long enough when the slowest takes this long, or at this many bytes.
constexpr double enough_s = 0.1;
constexpr std::int64_t first_bytes = 1 << 18, most_bytes = 1 << 26;
/// What a flow's rate does not count: its first pieces, which buffers and slow start have passed quickly or slowly.
constexpr int skipped_part = 4;

/// Parses "0-1,1-0": the same rank may occur several times.
std::vector<Pair> parse_flows(const std::string& text, int ranks) {
  std::vector<Pair> flows;
  for (const std::string& part : bench::split(text, ',')) {
    const auto dash = part.find('-');
    std::array<int, 2> ends{-1, -1};
    if (dash != std::string::npos) {
      std::from_chars(part.data(), part.data() + dash, ends[0]);
      std::from_chars(part.data() + dash + 1, part.data() + part.size(), ends[1]);
    }
    const auto [least, most] = std::minmax(ends[0], ends[1]);
    if (least < 0 || most >= ranks || least == most) throw UsageError("flows: '" + part + "' is not a pair of ranks");
    flows.push_back({ends[0], ends[1]});
  }
  return flows;
}

/// This rank's ends of all flows: pieces, `window` of each flow under way.
class Ends {
 public:
  Ends(World& world, const std::vector<Pair>& flows, std::int64_t pieces, std::int64_t piece_bytes, int window)
      : world_(world), pieces_(pieces), piece_bytes_(piece_bytes), window_(static_cast<std::size_t>(window)) {
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const bool sends = flows[i].first == world.rank();
      if (sends || flows[i].second == world.rank())
        ends_.push_back({i, sends, sends ? flows[i].second : flows[i].first, pieces, 0, 0, 0});
    }
    requests_.assign(ends_.size() * window_, MPI_REQUEST_NULL);
  }

  /// Returns bytes per second of those flows that this rank receives, by number; 0 elsewhere.
  std::vector<double> stream(std::size_t flows) {
    const bool yields = tests_keep_the_core();
    for (std::size_t i = 0; i < requests_.size(); ++i) post(i);
    std::vector<int> ended(requests_.size());
    // All requests are asked about in one call, because each call may give the core away.
    for (int count = 0; count != MPI_UNDEFINED;) {
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, ended.data(), MPI_STATUSES_IGNORE);
      for (int i = 0; count != MPI_UNDEFINED && i < count; ++i) take(static_cast<std::size_t>(ended[i]));
      if (count == 0 && yields) sched_yield();
    }
    std::vector<double> rates(flows, 0);
    for (const End& end : ends_) {
      const auto counted = static_cast<double>((pieces_ - pieces_ / skipped_part) * piece_bytes_);
      if (!end.sends) rates[end.flow] = counted / (end.end_ns - end.start_ns) * 1e9;
    }
    return rates;
  }

 private:
  struct End {
    std::size_t flow;
    bool sends;
    int peer;
    std::int64_t left, ended;
    double start_ns, end_ns;
  };

  void post(std::size_t place) {
    End& end = ends_[place / window_];
    if (end.left == 0) return;
    --end.left;
    const auto count = static_cast<int>(piece_bytes_);
    MPI_Request* const request = &requests_[place];
    if (end.sends) MPI_Isend(world_.out(piece_bytes_), count, MPI_CHAR, end.peer, flow_tag, world_.comm(), request);
    else MPI_Irecv(world_.in(piece_bytes_), count, MPI_CHAR, end.peer, flow_tag, world_.comm(), request);
  }

  void take(std::size_t place) {
    End& end = ends_[place / window_];
    if (++end.ended == pieces_ / skipped_part) end.start_ns = now_ns();
    if (end.ended == pieces_) end.end_ns = now_ns();
    post(place);
  }

  World& world_;
  std::int64_t pieces_, piece_bytes_;
  std::size_t window_;
  std::vector<End> ends_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

/// Streams long messages over several connections at once, which may share ranks: `flows` (0-1,1-2). Ranks without a
/// flow sleep. piece (65536), window (4): of each flow. Each flow is twice as long until the slowest takes 0.1 s.
/// Prints for each of `reps` (5) bytes per second of each flow, as its receiver sees it, and of all together from
/// beginning to end: flows that end early leave more to others. budget: seconds for all.
void flows(World& world, const Task& task) {
  const std::vector<Pair> all = parse_flows(task.text("flows", "0-1"), world.size());
  const std::int64_t piece_bytes = std::max<std::int64_t>(task.number("piece", 65536), 1);
  const auto window = static_cast<int>(std::max<std::int64_t>(task.number("window", 4), 1));
  const auto reps = task.number("reps", 5);
  const Budget budget(task.real("budget", 1));
  std::int64_t bytes = first_bytes;
  std::vector<std::vector<double>> rates;
  std::vector<double> together;
  for (std::int64_t more = 1; more != 0;) {
    world.quiet_barrier();
    const double began = now_ns();
    const std::int64_t pieces = std::max<std::int64_t>(bytes / piece_bytes, 2 * skipped_part);
    const std::vector<double> mine = Ends(world, all, pieces, piece_bytes, window).stream(all.size());
    const double took_s = (now_ns() - began) * 1e-9;
    world.quiet_barrier();
    const double slowest_s = world.largest(took_s);
    const bool enough = world.agree(static_cast<std::int64_t>(slowest_s >= enough_s)) != 0;
    const auto gathered = world.gather(mine);
    if (world.is_root() && (enough || bytes >= most_bytes)) {
      rates.emplace_back(all.size(), 0);
      together.push_back(static_cast<double>(pieces * piece_bytes) * static_cast<double>(all.size()) / slowest_s);
      for (std::size_t i = 0; i < all.size(); ++i)
        rates.back()[i] = gathered[static_cast<std::size_t>(all[i].second)][i];
    }
    if (!enough && bytes < most_bytes) bytes *= 2;
    const auto count = static_cast<std::int64_t>(rates.size());
    more = world.agree(static_cast<std::int64_t>(count == 0 || (count < reps && budget.left_s() > 0)));
  }
  if (!world.is_root()) return;
  print_line({{"event", "flows"}, {"label", task.text("label", "")}, {"bytes_per_s", rates}, {"together", together}});
}

}  // namespace probe
