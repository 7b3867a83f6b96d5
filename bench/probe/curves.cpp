// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "experiments.hpp"
#include "statistics.hpp"

namespace probe {

namespace {

constexpr int most_messages = 1024;
constexpr double alone_below_ns = 1e6;    ///< shorter messages are measured on one pair at a time
constexpr double block_ns = 20e6;         ///< target time of one turn of a quantity
constexpr double least_sample_ns = 16e6;  ///< of the gap
constexpr double gap_bytes = 2e5;         ///< of one sample of the gap if its messages are short
constexpr double enough_ns = 1e8;         ///< of a sample of the gap, whose half then is far longer than any burst
constexpr int least_turns = 3;            ///< of a size, if there is time

/// All samples of one size from all pairs; only the root has them.
struct Point {
  std::int64_t bytes = 0;
  int gap_count = 8;
  std::vector<double> round_ns, send_ns, gap_ns, receive_ns, even_ns;
};

/// Measures the pLogP curves of one class of link on pairs that share no rank.
class Curves {
 public:
  Curves(World& world, const Task& task)
      : world_(world), label_(task.text("label", "")), budget_(task.real("budget", 15)),
        tolerance_(task.real("tolerance", 0.05)), narrow_(task.real("narrow", 0.03)),
        round_(task.rounds("pairs", world.size()).at(0)), even_(task.number("even", 0) != 0),
        pause_us_(static_cast<int>(task.number("pause_us", 0))) {}

  void run(const std::vector<std::int64_t>& sizes, std::int64_t refine) {
    estimate(0);  // makes connections
    double weight = 0;
    for (const auto bytes : sizes) weight += weight_of(bytes);
    for (const auto bytes : sizes) {
      measure(bytes, (refine ? 0.6 : 0.95) * budget_.left_s() * weight_of(bytes) / weight);
      weight -= weight_of(bytes);
      // Later sizes get the time that a size leaves unused.
      if (refine && weight > 0) weight = std::max(weight, weight_of(bytes));
    }
    if (refine) refine_all();
  }

 private:
  static double weight_of(std::int64_t bytes) { return 1 + static_cast<double>(bytes) / 65536; }
  void wait() const { world_.barrier(); }

  /// Returns the present median round trip on all ranks.
  double estimate(std::int64_t bytes) {
    wait();
    // Where a shorter message took long, one round trip tells enough.
    const int reps = last_round_ns_ > block_ns / 2 ? 1 : 3;
    const auto all = pooled(round_trips(world_, seat(0, 0), bytes, even_ ? bytes : 0, reps, pause_us_).round_ns);
    return last_round_ns_ = world_.agree(world_.is_root() ? median_of(all).value : 0.0);
  }

  std::vector<double> pooled(const std::vector<double>& mine) const {
    std::vector<double> all;
    for (const auto& of_rank : world_.gather(mine)) all.insert(all.end(), of_rank.begin(), of_rank.end());
    return all;
  }

  static void append(std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  /// Decides who measures in a turn. Long messages wait for the link, so all pairs can measure at once. Short ones cost
  /// processor time, which ranks may share (in an emulated cluster), so those pairs measure one after the other.
  [[nodiscard]] Seat seat(double round_ns, int turn) const {
    if (round_ns > alone_below_ns) return seat_in(round_, world_.rank());
    return seat_in({round_[static_cast<std::size_t>(turn) % round_.size()]}, world_.rank());
  }

  /// Does one turn of every quantity of a size.
  void turn(Point& point, double round_ns, int turns) {
    const Seat seat = this->seat(round_ns, turns);
    const int reps = static_cast<int>(std::clamp(block_ns / (round_ns + pause_us_ * 1e3), 2.0, 30.0));
    wait();
    const auto trips = round_trips(world_, seat, point.bytes, even_ ? point.bytes : 0, reps, pause_us_);
    append(point.round_ns, pooled(trips.round_ns));
    append(point.send_ns, pooled(trips.send_ns));
    if (even_ || pause_us_ > 0) return;
    wait();
    append(point.gap_ns, pooled(gap(world_, seat, point.bytes, point.gap_count)));
    // What was estimated from shorter messages can be too short where a connection is paced.
    const double seen_ns = world_.agree(world_.is_root() ? median_of(point.round_ns).value : 0.0);
    wait();
    const double delay_ns = std::max(round_ns, seen_ns) * 1.3 + 150e3;
    append(point.receive_ns, pooled(delayed_receives(world_, seat, point.bytes, std::max(2, reps / 3), delay_ns)));
  }

  /// Doubles the number of messages until the gap settles.
  int settled_count(std::int64_t bytes, double round_ns) {
    int count = static_cast<int>(std::clamp(gap_bytes / (static_cast<double>(bytes) + 256), 4.0, 128.0));
    double before = 0;
    for (; count < most_messages; count *= 2) {
      wait();
      const auto all = pooled(gap(world_, seat(round_ns, 0), bytes, count));
      const double now = world_.agree(world_.is_root() ? median_of(all).value : 0.0);
      if (now * count > enough_ns) return count;
      if (before == 0 && now * count < least_sample_ns) {
        // Half of the messages must be enough to get past the bursts that links let through.
        count = std::clamp(static_cast<int>(least_sample_ns / now), count, most_messages) / 2;
        before = now;
        continue;
      }
      if (before > 0 && std::abs(now - before) < 0.04 * before) return count / 2;
      before = now;
    }
    return count;
  }

  /// Repeats turns until the medians are known or the time for this size is up.
  void measure(std::int64_t bytes, double seconds) {
    Point& point = points_[bytes];
    point.bytes = bytes;
    const double until = now_ns() + seconds * 1e9;
    const double round_ns = std::max(estimate(bytes), 1e3);
    if (!even_ && pause_us_ == 0) point.gap_count = settled_count(bytes, round_ns);
    std::int64_t more = 1;
    const int least = round_ns > alone_below_ns ? 1 : static_cast<int>(round_.size());
    for (int turns = 0; more != 0; ++turns) {
      const double began = now_ns();
      turn(point, round_ns, turns);
      const double now = now_ns();
      const bool time_left = turns < 64 && now + (now - began) / 2 < until;
      const bool wanted = turns + 1 < least_turns || !known(point);
      more = world_.agree(static_cast<std::int64_t>(turns + 1 < least || (time_left && wanted)));
    }
    if (world_.is_root()) print(point);
  }

  [[nodiscard]] bool known(const Point& p) const {
    if (median_of(p.round_ns).spread > narrow_) return false;
    if (even_ || pause_us_ > 0) return true;
    return median_of(p.gap_ns).spread < narrow_ && median_of(p.send_ns).spread < narrow_ &&
           median_of(p.receive_ns).spread < narrow_;
  }

  /// How far the middle of three sizes is off the line between its neighbours, in the gap or the time of a message.
  static double miss(const Point& a, const Point& b, const Point& c) {
    double most = 0;
    for (const auto quantity : {&Point::round_ns, &Point::gap_ns, &Point::receive_ns}) {
      const double x = median_of(a.*quantity).value, y = median_of(b.*quantity).value, z = median_of(c.*quantity).value;
      const double line = x + (z - x) * static_cast<double>(b.bytes - a.bytes) / static_cast<double>(c.bytes - a.bytes);
      // Of or(m), only jumps matter: they show where a message begins to wait for its receiver.
      const double matters = quantity == &Point::receive_ns ? 0.1 : 1;
      most = std::max(most, matters * std::abs(line - y) / y);
    }
    return most;
  }

  /// Returns an unmeasured size between two neighbours; 0 if these are close enough.
  static std::int64_t between(std::int64_t a, std::int64_t b) {
    if (b - a < 64 || static_cast<double>(b) < 1.12 * static_cast<double>(a)) return 0;
    const double middle =
        a == 0 ? static_cast<double>(b) / 2 : std::sqrt(static_cast<double>(a) * static_cast<double>(b));
    return static_cast<std::int64_t>(middle) / 8 * 8;
  }

  /// Returns, on the root, a size in the worst interval, next to a size that its neighbours do not predict.
  [[nodiscard]] std::int64_t next_size() const {
    std::int64_t best = 0;
    double worst = tolerance_;
    for (auto b = std::next(points_.begin()); std::next(b) != points_.end(); ++b) {
      const auto a = std::prev(b), c = std::next(b);
      const double missed = miss(a->second, b->second, c->second);
      const std::int64_t left = between(a->first, b->first), right = between(b->first, c->first);
      // Takes the wider of its two sides, by ratio.
      const double left_ratio =
          static_cast<double>(b->first) / static_cast<double>(std::max<std::int64_t>(a->first, 1));
      const double right_ratio = static_cast<double>(c->first) / static_cast<double>(b->first);
      const std::int64_t size = left != 0 && (left_ratio >= right_ratio || right == 0) ? left : right;
      if (size != 0 && missed > worst && points_.count(size) == 0) {
        worst = missed;
        best = size;
      }
    }
    return best;
  }

  void refine_all() {
    while (true) {
      const bool on = world_.is_root() && budget_.left_s() > 0.2;
      const std::int64_t size = world_.agree(on ? next_size() : 0);
      if (size == 0) return;
      measure(size, std::min(budget_.left_s() / 2, 0.3 * weight_of(size)));
    }
  }

  void print(const Point& p) const {
    print_line({{"event", "point"},
                {"label", label_},
                {"bytes", p.bytes},
                {"pairs", round_.size()},
                {"gap_count", p.gap_count},
                {"round_ns", p.round_ns},
                {"os_ns", p.send_ns},
                {"g_ns", p.gap_ns},
                {"or_ns", p.receive_ns}});
  }

  World& world_;
  std::string label_;
  Budget budget_;
  double tolerance_, narrow_;
  Round round_;
  bool even_;
  int pause_us_;
  double last_round_ns_ = 0;
  std::map<std::int64_t, Point> points_;
};

}  // namespace

/// Measures pLogP by the method of the MPI LogP benchmark, on all `pairs` at once. sizes: the first ones; refine=1 adds
/// more where lines between neighbours are off by more than `tolerance`. narrow: the desired half width of the medians'
/// interval. budget: seconds. even=1: plain ping-pong (m both ways), only round trips; pause_us: the link rests before
/// each round trip, only round trips.
void curves(World& world, const Task& task) {
  Curves(world, task).run(task.numbers("sizes", "0,64,1024,4096,16384,65536,262144,1048576"), task.number("refine", 1));
}

}  // namespace probe
