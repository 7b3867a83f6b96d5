// SPDX-License-Identifier: Apache-2.0
#include "antiphon/library_algorithms.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "cost/link_loads.hpp"
#include "json/node.hpp"
#include "libraries/tables.hpp"

namespace antiphon {

namespace {

/// Algorithms are made of others, and those of others again; no library goes deeper.
constexpr int max_depth = 4;
/// Of ranks with more operations, which take long to build, one is looked at.
constexpr std::ptrdiff_t most_operations_looked_at = 4096;

const Json& all_tables() {
  static const Json tables = JsonNode::parse(library_tables_json, std::size_t{1} << 20);
  return tables;
}

/// Says how a communicator's ranks lie on the nodes, in the words of the tables' conditions.
struct Layout {
  bool spread = false;  ///< several nodes, and several ranks on one of them
  bool balanced = true;
  bool consecutive = true;
};

Layout layout_of(const Cluster& cluster) {
  std::vector<int> on(static_cast<std::size_t>(cluster.nodes()), 0);
  int changes = 0;
  for (int r = 0; r < cluster.ranks(); ++r) {
    ++on[static_cast<std::size_t>(cluster.node(r))];
    if (r > 0 && cluster.node(r) != cluster.node(r - 1)) ++changes;
  }
  const bool balanced = std::all_of(on.begin(), on.end(), [&](int n) { return n == on[0]; });
  return {cluster.nodes() > 1 && *std::max_element(on.begin(), on.end()) > 1, balanced, changes == cluster.nodes() - 1};
}

/// Returns whether a rule's conditions hold.
bool holds(const JsonNode& rule, const PredictedCall& call, int ranks, const Layout& layout) {
  if (const auto bounds = rule.find("ranks")) {
    const JsonNode low = bounds->element(0), high = bounds->element(1);
    if (ranks < low.integer() || (high.is_number() && ranks > high.integer())) return false;
  }
  const std::map<std::string_view, bool> facts{
      {"power_of_two", std::has_single_bit(static_cast<unsigned>(ranks))},
      {"commutative", call.commutative},
      {"in_place", false},
      {"spread", layout.spread},
      {"balanced", layout.balanced},
      {"consecutive", layout.consecutive},
  };
  return std::all_of(facts.begin(), facts.end(), [&](const auto& fact) {
    const auto wanted = rule.find(fact.first);
    return !wanted || wanted->boolean() == fact.second;
  });
}

/// Returns the first of the schedules that can do the call, else the last one.
Choice first_supported(const PredictedCall& call, int ranks, const JsonNode& schedules) {
  Choice choice;
  for (std::size_t i = 0; i < schedules.array_size(); ++i) {
    choice = parse_choice(call.collective, schedules.element(i).text());
    if (supports(*choice.algorithm, problem_of(call, 0, ranks, *choice.algorithm, choice.parameters))) break;
  }
  return choice;
}

}  // namespace

struct LibraryAlgorithms::Impl {
  std::string key;                   ///< of the tables
  std::vector<std::string> without;  ///< rules with these conditions do not count

  [[nodiscard]] JsonNode tables() const { return JsonNode(all_tables().at(key)); }

  /// Adds the parts of a call on groups of `ranks`.
  void add(std::vector<LibraryPart>& parts, const PredictedCall& call, Among among, int ranks, const Cluster& cluster,
           std::string_view sub, std::int64_t times, int depth) const {
    if (ranks < 2) return;
    if (depth > max_depth) throw InvalidArgument("the tables go round in a circle");
    const JsonNode document = tables();
    // Parts of a nonblocking call that the table does not spell out are taken for blocking ones.
    const bool nonblocking = call.nonblocking && depth == 0;
    const auto of_nonblocking = nonblocking ? document.find("nonblocking") : std::nullopt;
    const auto of_collective = nonblocking && of_nonblocking ? of_nonblocking->find(name(call.collective))
                               : nonblocking                 ? std::nullopt
                                                             : document.find(name(call.collective));
    if (!of_collective) throw InvalidArgument("nothing is known of " + std::string(name(call.collective)));
    const JsonNode table = sub.empty() ? *of_collective : of_collective->at(sub);
    const auto size_kind = table.find("size");
    const std::int64_t size = size_kind && size_kind->text() == "total" ? call.bytes * ranks : call.bytes;
    const Layout layout = among == Among::all && ranks == cluster.ranks() ? layout_of(cluster) : Layout{};
    const JsonNode rules = table.at("rules");
    for (std::size_t i = 0; i < rules.array_size(); ++i) {
      const JsonNode rule = rules.element(i);
      const bool counts = std::none_of(without.begin(), without.end(), [&](const auto& w) { return rule.find(w); });
      if (!counts || !holds(rule, call, ranks, layout)) continue;
      const JsonNode algorithms = table.at("algorithms");
      return add_algorithm(parts, algorithms, used(rule, size), call, {among, ranks, times, depth}, cluster);
    }
    throw InvalidArgument("no rule for " + std::string(name(call.collective)));
  }

 private:
  struct Place {
    Among among;
    int ranks;
    std::int64_t times;
    int depth;
  };

  static std::string used(const JsonNode& rule, std::int64_t size) {
    if (const auto below = rule.find("below")) {
      for (std::size_t i = 0; i < below->array_size(); ++i) {
        const JsonNode pair = below->element(i);
        const JsonNode limit = pair.element(0), use = pair.element(1);
        if (size < limit.integer()) return use.text();
      }
    }
    const JsonNode use = rule.at("use");
    return use.text();
  }

  void add_algorithm(std::vector<LibraryPart>& parts, const JsonNode& algorithms, const std::string& called,
                     const PredictedCall& call, const Place& place, const Cluster& cluster) const {
    const JsonNode algorithm = algorithms.at(called);
    if (!algorithm.is_object()) return add_schedules(parts, algorithm, call, place, cluster);
    if (const auto least = algorithm.find("least_elements")) {
      const bool scatters = name(call.collective).substr(0, 14) == "reduce_scatter";
      const std::int64_t elements = (scatters ? call.bytes * place.ranks : call.bytes) / call.element_bytes;
      const auto ranks = static_cast<unsigned>(place.ranks);
      if (elements < (least->text() == "ranks" ? place.ranks : static_cast<int>(std::bit_floor(ranks)))) {
        const JsonNode otherwise = algorithm.at("otherwise");
        return add_algorithm(parts, algorithms, otherwise.text(), call, place, cluster);
      }
    }
    const JsonNode use = algorithm.at("use");
    add_schedules(parts, use, call, place, cluster);
  }

  /// Adds what an algorithm is: one schedule, the first of several that can do it, or steps.
  void add_schedules(std::vector<LibraryPart>& parts, const JsonNode& what, const PredictedCall& call,
                     const Place& place, const Cluster& cluster) const {
    if (!what.is_array()) {
      parts.push_back({parse_choice(call.collective, what.text()), call, place.among, place.ranks, place.times});
      return;
    }
    const JsonNode first = what.element(0);
    if (!first.is_object()) {
      parts.push_back({first_supported(call, place.ranks, what), call, place.among, place.ranks, place.times});
      return;
    }
    for (std::size_t i = 0; i < what.array_size(); ++i) {
      const JsonNode step = what.element(i);
      const JsonNode name_of_it = step.at("collective");
      if (const auto collective = collective_from_name(name_of_it.text()))
        add_step(parts, step, *collective, call, place, cluster);
      else if (const auto like = step.find("schedule"))  // a pattern of messages that is nearly this schedule's
        add_schedules(parts, *like, call, place, cluster);
    }
  }

  /// Returns a step's root as its index in the group that the step works on.
  [[nodiscard]] int root_of_step(const JsonNode& step, const std::string& over, int root, int ranks,
                                 const Cluster& cluster) const {
    root = static_cast<int>(step.integer_or("root", root, 0, cluster.ranks() - 1));
    if (over == "all") return root;
    if (over == "leaders") return cluster.node(root);
    const JsonNode document = tables();
    const JsonNode about = document.at("library");
    const JsonNode leader = about.at("leader");
    if (over != "node" || leader.text() != "same_place") return 0;
    const auto before = cluster.node_of_rank().first(at(root));
    return std::min(static_cast<int>(std::count(before.begin(), before.end(), cluster.node(root))), ranks - 1);
  }

  void add_step(std::vector<LibraryPart>& parts, const JsonNode& step, Collective collective,
                const PredictedCall& whole, const Place& place, const Cluster& cluster) const {
    const auto over_field = step.find("over");
    const std::string over = over_field ? over_field->text() : "all";
    Place on = place;
    const int per_node = (place.ranks + cluster.nodes() - 1) / cluster.nodes();
    if (over == "node") on.among = Among::node, on.ranks = per_node;
    if (over == "leaders") on.among = Among::leaders, on.ranks = cluster.nodes();
    const auto acting = static_cast<int>(std::bit_floor(static_cast<unsigned>(place.ranks)));
    if (over == "acting") on.ranks = acting;
    if (over == "pairs") on.ranks = place.ranks > acting ? 2 : 1;
    ++on.depth;
    PredictedCall call = whole;
    call.collective = collective;
    call.root = root_of_step(step, over, whole.root, on.ranks, cluster);
    const auto bytes_field = step.find("bytes");
    const std::string bytes = bytes_field ? bytes_field->text() : "block";
    if (bytes == "total") call.bytes = whole.bytes * place.ranks;
    if (bytes == "node") call.bytes = whole.bytes * per_node;
    if (bytes == "share") call.bytes = (whole.bytes + place.ranks - 1) / place.ranks;
    const auto text_of = [&](std::string_view key) {
      const auto field = step.find(key);
      return field ? field->text() : std::string();
    };
    const std::int64_t longest = step.integer_or("segment_bytes", INT64_MAX, 1, INT64_MAX);
    if (call.bytes <= longest) return add_segment(parts, step, call, on, cluster, text_of("first"), place.times);
    const std::int64_t segment = std::max<std::int64_t>(longest / call.element_bytes, 1) * call.element_bytes;
    const std::int64_t count = call.bytes / segment;
    const std::int64_t rest = call.bytes % segment;
    call.bytes = segment;
    add_segment(parts, step, call, on, cluster, text_of("first"), place.times);
    if (count > 1) add_segment(parts, step, call, on, cluster, text_of("others"), place.times * (count - 1));
    call.bytes = rest;
    if (rest > 0) add_segment(parts, step, call, on, cluster, text_of("others"), place.times);
  }

  void add_segment(std::vector<LibraryPart>& parts, const JsonNode& step, const PredictedCall& call, const Place& on,
                   const Cluster& cluster, const std::string& sub, std::int64_t times) const {
    const auto use = step.find("use");
    if (!use) return add(parts, call, on.among, on.ranks, cluster, sub, times, on.depth);
    if (on.ranks < 2) return;
    Place place = on;
    place.times = times;
    add_schedules(parts, *use, call, place, cluster);
  }
};

LibraryAlgorithms::LibraryAlgorithms() : impl_(std::make_unique<Impl>()) {}
LibraryAlgorithms::~LibraryAlgorithms() = default;
LibraryAlgorithms::LibraryAlgorithms(LibraryAlgorithms&&) noexcept = default;
LibraryAlgorithms& LibraryAlgorithms::operator=(LibraryAlgorithms&&) noexcept = default;

namespace {

/// Returns the part of a cluster that one part of a library's algorithm works on.
Cluster cluster_of(const LibraryPart& part, const Cluster& cluster) {
  if (part.among == Among::node) return Cluster::blocked(cluster.profile(), part.ranks, part.ranks);
  if (part.among == Among::leaders) return Cluster::blocked(cluster.profile(), part.ranks, 1);
  return part.ranks == cluster.ranks() ? cluster : cluster.resized(part.ranks);
}

/// How much of a burst the ports of shaped links let pass at once before each part: what the parts before have left.
class Burst {
 public:
  explicit Burst(double bytes) : bytes_(bytes) {}

  [[nodiscard]] Cluster left_on(Cluster cluster) const {
    if (share_ == 1) return cluster;
    Profile profile = cluster.profile();
    for (NodeEntry& node : profile.topology.nodes) node.burst_bytes *= share_;
    return {std::move(profile), {cluster.node_of_rank().begin(), cluster.node_of_rank().end()}};
  }

  /// Takes what a part sends. A bucket fills at the port's rate.
  void use(const LibraryPart& part, const Cluster& cluster, double seconds) {
    if (bytes_ <= 0) return;
    const std::array<int, 3> ranks{0, part.ranks / 2, part.ranks - 1};
    const auto build = [&](int rank) {
      const Algorithm& algorithm = *part.choice.algorithm;
      return algorithm.build(problem_of(part.call, rank, part.ranks, algorithm, part.choice.parameters));
    };
    const double sending_s = port_s(cluster, build, ranks, most_operations_looked_at);
    share_ = std::clamp(share_ + (seconds - sending_s) * cluster.entry(0).port_bytes_per_s / bytes_, 0.0, 1.0);
  }

 private:
  double bytes_;
  double share_ = 1;
};

}  // namespace

std::optional<std::vector<LibraryPart>> LibraryAlgorithms::parts(const PredictedCall& call,
                                                                 const Cluster& cluster) const {
  if (call.root < 0 || call.root >= cluster.ranks()) return std::nullopt;
  std::vector<LibraryPart> found;
  try {
    impl_->add(found, call, Among::all, cluster.ranks(), cluster, "", 1, 0);
  } catch (const Error&) {
    return std::nullopt;  // Nothing is known of the collective, or it needs what our schedules do not have.
  }
  return found;
}

std::optional<double> LibraryAlgorithms::predict_seconds(const PredictedCall& call, const Cluster& cluster,
                                                         const PredictionLimits& limits) const {
  const auto all = parts(call, cluster);
  if (!all) return std::nullopt;
  PredictionLimits as_numbered = limits;
  as_numbered.as_numbered = true;
  double once_s = 0;
  double repeated_s = 0;
  bool known = true;
  Burst burst(cluster.entry(0).burst_bytes);
  for (const LibraryPart& part : *all) {
    const Cluster part_of = burst.left_on(cluster_of(part, cluster));
    const auto predicted =
        predict(part.call, *part.choice.algorithm, part.choice.parameters, part_of, nullptr, as_numbered);
    if (!predicted) return std::nullopt;
    if (predicted->given_up) {
      known = false;
      continue;
    }
    if (all->size() > 1) burst.use(part, part_of, predicted->seconds);
    // The segments of several parts are under way at the same time: the slowest part counts.
    const double times = static_cast<double>(part.times);
    if (part.times == 1) once_s += predicted->seconds;
    else repeated_s = std::max(repeated_s, predicted->seconds * times);
  }
  const double seconds = once_s + repeated_s;
  return known || std::isinf(seconds) ? std::optional(seconds) : std::nullopt;
}

const LibraryAlgorithms* LibraryAlgorithms::of(std::string_view library) {
  const bool open = library.substr(0, 7) == "openmpi";
  if (!open && library.substr(0, 5) != "mpich") return nullptr;
  static const std::vector<LibraryAlgorithms> known = [] {
    std::vector<LibraryAlgorithms> all;
    for (const char* key : {"openmpi-5.0", "openmpi-4.1", "mpich-5", "mpich-4"}) {
      const JsonNode tables(all_tables());
      const JsonNode table = tables.at(key);
      const JsonNode about = table.at("library");
      LibraryAlgorithms one;
      const auto like = about.find("like");
      one.impl_->key = like ? like->text() : key;
      if (const auto without = about.find("without")) {
        for (std::size_t i = 0; i < without->array_size(); ++i)
          one.impl_->without.push_back(without->element(i).text());
      }
      all.push_back(std::move(one));
    }
    return all;
  }();
  const std::size_t version = library.find_first_of("0123456789");
  const bool is_4 = version != std::string_view::npos && library.substr(version, 2) == "4.";
  return &known[(open ? 0 : 2) + (is_4 ? 1 : 0)];
}

}  // namespace antiphon
