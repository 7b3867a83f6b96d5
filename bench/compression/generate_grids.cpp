// SPDX-License-Identifier: Apache-2.0
// Halos of simulations on grids, recorded step by step. Each simulation really runs.
#include "generate.hpp"

namespace antiphon::codec_bench {

namespace {

constexpr int n = 40;  // points in each dimension

std::size_t at(int x, int y, int z) { return static_cast<std::size_t>((z * n + y) * n + x); }
int wrapped(int i) { return (i + n) % n; }

struct Cell {
  double u[5];  // density, momenta, energy
};

Cell flux(const Cell& c, int d, double& speed) {
  const double velocity = c.u[1 + d] / c.u[0];
  const double kinetic = 0.5 * (c.u[1] * c.u[1] + c.u[2] * c.u[2] + c.u[3] * c.u[3]) / c.u[0];
  const double pressure = 0.4 * (c.u[4] - kinetic);
  speed = std::abs(velocity) + std::sqrt(1.4 * pressure / c.u[0]);
  Cell f;
  for (int v = 0; v < 5; ++v) f.u[v] = velocity * c.u[v];
  f.u[1 + d] += pressure;
  f.u[4] += velocity * pressure;
  return f;
}

/// One step of a shock in gas, each direction separately, with Rusanov's flux.
void euler_step(std::vector<Cell>& cells, double ratio) {
  std::vector<Cell> next = cells;
  for (int d = 0; d < 3; ++d) {
    for (int z = 0; z < n; ++z) {
      for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
          const std::size_t here = at(x, y, z),
                            there = at(wrapped(x + (d == 0)), wrapped(y + (d == 1)), wrapped(z + (d == 2)));
          double speed_a, speed_b;
          const Cell a = flux(cells[here], d, speed_a), b = flux(cells[there], d, speed_b);
          const double speed = std::max(speed_a, speed_b);
          for (int v = 0; v < 5; ++v) {
            const double f = 0.5 * (a.u[v] + b.u[v]) - 0.5 * speed * (cells[there].u[v] - cells[here].u[v]);
            next[here].u[v] -= ratio * f;
            next[there].u[v] += ratio * f;
          }
        }
      }
    }
    cells = next;
  }
}

/// The two outermost layers of one side, variable by variable or cell by cell.
std::vector<double> euler_halo(const std::vector<Cell>& cells, int d, bool by_variable) {
  std::vector<double> out;
  const auto cell = [&](int a, int b, int layer) {
    const int i = n / 2 - 4 + layer;
    return d == 0 ? at(i, a, b) : d == 1 ? at(a, i, b) : at(a, b, i);
  };
  if (by_variable) {
    for (int v = 0; v < 5; ++v) {
      for (int layer = 0; layer < 2; ++layer) {
        for (int b = 0; b < n; ++b) {
          for (int a = 0; a < n; ++a) out.push_back(cells[cell(a, b, layer)].u[v]);
        }
      }
    }
    return out;
  }
  for (int layer = 0; layer < 2; ++layer) {
    for (int b = 0; b < n; ++b) {
      for (int a = 0; a < n; ++a) out.insert(out.end(), cells[cell(a, b, layer)].u, cells[cell(a, b, layer)].u + 5);
    }
  }
  return out;
}

MessageTrace euler(const std::string& name, std::uint64_t seed, bool by_variable) {
  Random random(seed);
  const double cx = 12 + 4 * random.uniform(), cy = 14 + 4 * random.uniform(), cz = 14 + 4 * random.uniform();
  std::vector<Cell> cells(n * n * n);
  for (int z = 0; z < n; ++z) {
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        const bool inside = (x - cx) * (x - cx) + (y - cy) * (y - cy) + (z - cz) * (z - cz) < 36;
        cells[at(x, y, z)] = {{inside ? 1.0 : 0.125, 0, 0, 0, (inside ? 5.0 : 0.1) / 0.4}};
      }
    }
  }
  MessageTrace trace{name, "generated", {}};
  for (int step = 0; step < 12; ++step) {
    euler_step(cells, 0.08);
    for (int d = 0; d < 3; ++d)
      trace.messages.push_back(message_of(Type::f64, euler_halo(cells, d, by_variable), d, d));
  }
  return trace;
}

std::vector<double> plane(const std::vector<double>& field, int d, int place) {
  std::vector<double> out;
  for (int b = 0; b < n; ++b) {
    for (int a = 0; a < n; ++a)
      out.push_back(field[d == 0 ? at(place, a, b) : d == 1 ? at(a, place, b) : at(a, b, place)]);
  }
  return out;
}

void send_faces(MessageTrace& trace, const std::vector<double>& field) {
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side) {
      trace.messages.push_back(message_of(Type::f64, plane(field, d, side * (n - 1)), 2 * d + side, d));
    }
  }
}

/// The sum over the six neighbours; points outside the grid are zero.
double neighbours(const std::vector<double>& f, int x, int y, int z) {
  double sum = 0;
  if (x > 0) sum += f[at(x - 1, y, z)];
  if (x < n - 1) sum += f[at(x + 1, y, z)];
  if (y > 0) sum += f[at(x, y - 1, z)];
  if (y < n - 1) sum += f[at(x, y + 1, z)];
  if (z > 0) sum += f[at(x, y, z - 1)];
  if (z < n - 1) sum += f[at(x, y, z + 1)];
  return sum;
}

std::vector<double> warm_spots(Random& random) {
  std::vector<double> field(n * n * n, 20.0);
  for (int spot = 0; spot < 12; ++spot) {
    const double cx = n * random.uniform(), cy = n * random.uniform(), cz = n * random.uniform(),
                 width = 2 + 8 * random.uniform();
    for (int z = 0; z < n; ++z) {
      for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
          const double r2 = (x - cx) * (x - cx) + (y - cy) * (y - cy) + (z - cz) * (z - cz);
          field[at(x, y, z)] += 80 * std::exp(-r2 / (2 * width * width));
        }
      }
    }
  }
  return field;
}

MessageTrace heat(const std::string& name, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> field = warm_spots(random), next = field;
  MessageTrace trace{name, "generated", {}};
  for (int step = 0; step < 16; ++step) {
    for (int z = 0; z < n; ++z) {
      for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) next[at(x, y, z)] = 0.4 * field[at(x, y, z)] + 0.1 * neighbours(field, x, y, z);
      }
    }
    field.swap(next);
    send_faces(trace, field);
  }
  return trace;
}

/// Faces of the search direction, iteration by iteration, for Poisson's equation with a source of warm spots.
MessageTrace conjugate_gradients(const std::string& name, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> r = warm_spots(random), p = r, image(r.size());
  double norm = 0;
  for (const double value : r) norm += value * value;
  MessageTrace trace{name, "generated", {}};
  for (int iteration = 0; iteration < 24; ++iteration) {
    send_faces(trace, p);
    double curvature = 0;
    for (int z = 0; z < n; ++z) {
      for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
          const std::size_t i = at(x, y, z);
          image[i] = 6 * p[i] - neighbours(p, x, y, z);
          curvature += p[i] * image[i];
        }
      }
    }
    const double length = norm / curvature, last = norm;
    norm = 0;
    for (std::size_t i = 0; i < r.size(); ++i) r[i] -= length * image[i], norm += r[i] * r[i];
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = r[i] + norm / last * p[i];
  }
  return trace;
}

}  // namespace

std::optional<MessageTrace> generate_grid(const std::string& name, std::uint64_t seed) {
  if (name == "euler-soa") return euler(name, seed, true);
  if (name == "euler-aos") return euler(name, seed, false);
  if (name == "euler-soa-f32") return as_floats(euler(name, seed, true), name);
  if (name == "heat") return heat(name, seed);
  if (name == "heat-f32") return as_floats(heat(name, seed), name);
  if (name == "cg-planes") return conjugate_gradients(name, seed);
  return std::nullopt;
}

}  // namespace antiphon::codec_bench
