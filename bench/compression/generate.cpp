// SPDX-License-Identifier: Apache-2.0
#include "generate.hpp"

#include <stdexcept>

namespace antiphon::codec_bench {

namespace {

constexpr std::size_t values_per_message = 8192;
constexpr int messages = 12;

constexpr const char* names[] = {
    "euler-soa",    "euler-aos",        "euler-soa-f32", "heat",    "heat-f32",    "cg-planes",  "fft",
    "md-positions", "md-positions-f32", "gradients-f32", "is-keys", "csr-columns", "global-ids", "visited-ids",
    "structs",      "decimals",         "mostly-zeros",  "zeros",   "random"};

/// Coefficients of turbulence with Kolmogorov's spectrum; each step rotates their phases and damps them.
MessageTrace fft(std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values, rate;
  for (std::size_t k = 0; k < values_per_message / 2; ++k) {
    const double wave = 1 + std::sqrt(static_cast<double>(k));
    const double size = std::pow(wave, -11.0 / 6);
    values.push_back(size * random.normal());
    values.push_back(size * random.normal());
    rate.push_back(1e-4 * wave * wave);
  }
  MessageTrace trace;
  for (int step = 0; step < messages; ++step) {
    trace.messages.push_back(message_of(Type::f64, values, step % 3, 0));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= std::exp(-rate[i / 2]);
  }
  return trace;
}

/// Atoms on a lattice with random offsets. They drift with thermal velocities that collisions change; each atom's x, y
/// and z are adjacent.
MessageTrace positions(std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x, v;
  for (std::size_t i = 0; i < 2730; ++i) {
    const double cell[3] = {static_cast<double>(i % 14), static_cast<double>(i / 14 % 14),
                            static_cast<double>(i / 196)};
    for (const double c : cell) x.push_back(1.68 * c + 0.1 * random.normal()), v.push_back(random.normal());
  }
  MessageTrace trace;
  for (int step = 0; step < messages; ++step) {
    trace.messages.push_back(message_of(Type::f64, x, 0, 0));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.005 * v[i], v[i] = 0.98 * v[i] + 0.05 * random.normal();
  }
  return trace;
}

MessageTrace gradients(std::uint64_t seed) {
  Random random(seed);
  MessageTrace trace;
  for (int m = 0; m < messages; ++m) {
    std::vector<float> values(values_per_message);
    for (float& value : values) value = static_cast<float>(0.01 * random.normal());
    trace.messages.push_back(message_of(Type::f32, values));
  }
  return trace;
}

/// Keys of NAS IS in the order of their buckets, as its Alltoallv sends them.
MessageTrace sort_keys(std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<std::int32_t>> buckets(1024);
  for (int i = 0; i < 400000; ++i) {
    const double mean = (random.uniform() + random.uniform() + random.uniform() + random.uniform()) / 4;
    const auto key = static_cast<std::int32_t>(mean * (1 << 19));
    buckets[static_cast<std::size_t>(key >> 9)].push_back(key);
  }
  std::vector<std::int32_t> all;
  for (const auto& bucket : buckets) all.insert(all.end(), bucket.begin(), bucket.end());
  MessageTrace trace;
  for (std::size_t part = 0; part < 16; ++part) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(all.size() * part / 16);
    const auto to = all.begin() + static_cast<std::ptrdiff_t>(all.size() * (part + 1) / 16);
    trace.messages.push_back(message_of(Type::i32, std::vector<std::int32_t>(from, to), static_cast<int>(part), 0));
  }
  return trace;
}

/// Column numbers of a sparse matrix: 27 neighbours on a grid, row by row.
MessageTrace columns(std::uint64_t) {
  constexpr int side = 64;
  MessageTrace trace;
  std::vector<std::int32_t> values;
  for (int row = side * side + side + 1; trace.messages.size() < messages; ++row) {
    for (int k = 0; k < 27; ++k) values.push_back(row + (k / 9 - 1) * side * side + (k / 3 % 3 - 1) * side + k % 3 - 1);
    if (values.size() >= 2 * values_per_message)
      trace.messages.push_back(message_of(Type::i32, values)), values.clear();
  }
  return trace;
}

/// Sorted numbers with small gaps, or the numbers that a breadth-first search meets, which are runs of neighbours with
/// jumps between them.
MessageTrace ids(std::uint64_t seed, bool sorted) {
  Random random(seed);
  MessageTrace trace;
  std::int64_t id = 0;
  for (int m = 0; m < messages; ++m) {
    std::vector<std::int64_t> values;
    while (values.size() < values_per_message) {
      if (!sorted && random.below(12) == 0) id = static_cast<std::int64_t>(random.below(1 << 22));
      values.push_back(id += static_cast<std::int64_t>(1 + random.below(sorted ? 4 : 40)));
    }
    trace.messages.push_back(message_of(Type::i64, values));
  }
  return trace;
}

struct Particle {
  double x, y, z;
  float charge;
  std::int32_t kind;
  std::int64_t id;
};
static_assert(sizeof(Particle) == 40);

MessageTrace structs(std::uint64_t seed) {
  Random random(seed);
  std::vector<Particle> particles(1600);
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const auto kind = static_cast<std::int32_t>(random.below(3));
    particles[i] = {10 * random.uniform(),
                    10 * random.uniform(),
                    10 * random.uniform(),
                    kind == 0 ? 1.0f : -0.5f,
                    kind,
                    static_cast<std::int64_t>(1000000 + 3 * i + random.below(3))};
  }
  MessageTrace trace;
  for (int m = 0; m < messages; ++m) {
    trace.messages.push_back(message_of(Type::bytes, particles));
    for (Particle& p : particles)
      p.x += 0.01 * random.normal(), p.y += 0.01 * random.normal(), p.z += 0.01 * random.normal();
  }
  return trace;
}

template <typename Make>
MessageTrace doubles(std::uint64_t seed, Make&& make) {
  Random random(seed);
  MessageTrace trace;
  for (int m = 0; m < messages; ++m) {
    std::vector<double> values(values_per_message);
    for (double& value : values) value = make(random);
    trace.messages.push_back(message_of(Type::f64, values));
  }
  return trace;
}

MessageTrace make(const std::string& name, std::uint64_t seed) {
  if (name == "fft") return fft(seed);
  if (name == "md-positions") return positions(seed);
  if (name == "md-positions-f32") return as_floats(positions(seed), name);
  if (name == "gradients-f32") return gradients(seed);
  if (name == "is-keys") return sort_keys(seed);
  if (name == "csr-columns") return columns(seed);
  if (name == "global-ids") return ids(seed, true);
  if (name == "visited-ids") return ids(seed, false);
  if (name == "structs") return structs(seed);
  if (name == "decimals") return doubles(seed, [](Random& r) { return static_cast<double>(r.below(100000)) / 1000; });
  if (name == "mostly-zeros") return doubles(seed, [](Random& r) { return r.below(10) != 0 ? 0.0 : r.normal(); });
  if (name == "zeros") return doubles(seed, [](Random&) { return 0.0; });
  if (name == "random") {
    return doubles(seed, [](Random& r) {
      const std::uint64_t bits = r.bits();
      double value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    });
  }
  throw std::runtime_error("no generated messages are named " + name);
}

}  // namespace

std::span<const char* const> generated_names() { return names; }

MessageTrace generate(const std::string& name, std::uint64_t seed) {
  std::optional<MessageTrace> grid = generate_grid(name, seed);
  MessageTrace trace = grid ? *std::move(grid) : make(name, seed);
  trace.name = name;
  trace.kind = "generated";
  return trace;
}

MessageTrace as_floats(const MessageTrace& trace, const std::string& name) {
  MessageTrace floats{name, trace.kind, {}};
  for (const Message& message : trace.messages) {
    std::vector<double> values(message.payload.size() / sizeof(double));
    std::memcpy(values.data(), message.payload.data(), values.size() * sizeof(double));
    floats.messages.push_back(
        message_of(Type::f32, std::vector<float>(values.begin(), values.end()), message.destination, message.tag));
  }
  return floats;
}

}  // namespace antiphon::codec_bench
