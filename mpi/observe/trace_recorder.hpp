// SPDX-License-Identifier: Apache-2.0
// One rank's part of a trace (docs/reference/trace.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "observe/mapped_buffer.hpp"
#include "observe/trace_encoder.hpp"

namespace antiphon::mpi::trace {

/// Writes the calls of one rank.
class Recorder {
 public:
  Recorder(const std::string& path, std::string_view preamble, std::size_t most_bytes)
      : buffer_(path, preamble, most_bytes), most_(most_bytes) {}

  /// A call whose shape (function, communicator, number of fields, fields) is encoded in `shape`.
  void call(const std::string& shape, std::int64_t start_ns, std::int64_t duration_ns);
  /// An entry that is not a call.
  void entry(std::string_view bytes);
  void finish(std::int64_t now_ns);
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] MappedBuffer& buffer() { return buffer_; }

 private:
  MappedBuffer buffer_;
  std::unordered_map<std::string, std::uint64_t> shapes_;
  Encoder scratch_;
  std::size_t most_, table_bytes_ = 0;
  std::int64_t last_start_ns_ = 0;
  std::uint64_t dropped_ = 0;
};

/// From now on record() writes there, with times from `zero_s` (now_s()) on; null ends that.
void record_into(Recorder* recorder, double zero_s);

/// Writes a call from its shape, and before it the definitions that it needs (a communicator seen for the first time).
/// Thread-safe.
void record(const std::string& shape, const std::string& definitions, double began_s, double ended_s);

/// What record() makes of a time.
std::int64_t ns_since(double zero_s, double at_s);

}  // namespace antiphon::mpi::trace
