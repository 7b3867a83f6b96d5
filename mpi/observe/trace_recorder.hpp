// SPDX-License-Identifier: Apache-2.0
// This file writes one rank's part of a trace (docs/reference/trace.md).
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

  /// Writes a call; `shape` encodes its shape (function, communicator, number of fields, fields).
  void call(const std::string& shape, std::int64_t start_ns, std::int64_t duration_ns);
  /// Writes an entry that is not a call.
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

/// Makes record() write to `recorder`, with times that count from `zero_s` (as now_s()); null stops that.
void record_into(Recorder* recorder, double zero_s);

/// Writes a definition that calls after it need, as of a new communicator. It is thread-safe, as record() is.
void record_definition(const std::string& bytes);

/// Writes a call from its shape.
void record(const std::string& shape, double began_s, double ended_s);

/// Converts a time to the nanoseconds that record() writes.
std::int64_t ns_since(double zero_s, double at_s);

}  // namespace antiphon::mpi::trace
