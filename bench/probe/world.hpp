// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace probe {

/// Nanoseconds on the monotonic clock.
inline double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// All ranks of the probe, and how they agree. Its functions are collective unless they say otherwise.
class World {
 public:
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_root() const { return rank_ == 0; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

  /// Waits by polling, as ranks do inside collectives.
  void barrier() const { MPI_Barrier(comm_); }
  /// Waits by sleeping, which leaves the cores to ranks that measure.
  void quiet_barrier() const;
  /// Returns the root's value on every rank.
  [[nodiscard]] std::int64_t agree(std::int64_t of_root) const;
  [[nodiscard]] double agree(double of_root) const;
  /// Returns the largest of all ranks' values on every rank.
  [[nodiscard]] double largest(double mine) const;
  /// Returns everyone's numbers by rank on the root, and nothing elsewhere.
  [[nodiscard]] std::vector<std::vector<double>> gather(const std::vector<double>& mine) const;

  /// Returns a buffer of at least that many bytes, already touched; its contents do not matter.
  char* out(std::int64_t bytes) { return grown(out_, bytes); }
  char* in(std::int64_t bytes) { return grown(in_, bytes); }

 private:
  static char* grown(std::vector<char>& buffer, std::int64_t bytes);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<char> out_, in_;
};

/// The time that a task may spend; only the root's view counts.
class Budget {
 public:
  explicit Budget(double seconds) : end_ns_(now_ns() + seconds * 1e9) {}
  [[nodiscard]] double left_s() const { return (end_ns_ - now_ns()) * 1e-9; }

 private:
  double end_ns_;
};

}  // namespace probe
