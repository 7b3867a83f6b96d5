// SPDX-License-Identifier: Apache-2.0
#include "observe/trace_recorder.hpp"

#include <algorithm>
#include <mutex>

namespace antiphon::mpi::trace {

namespace {

constexpr std::uint64_t shape_key = 2;
constexpr std::uint64_t end_key = 3;
constexpr std::uint64_t first_call_key = 16;

std::mutex mutex;
Recorder* current = nullptr;
double recorder_zero_s = 0;

}  // namespace

void Recorder::call(const std::string& shape, std::int64_t start_ns, std::int64_t duration_ns) {
  const bool full = table_bytes_ + buffer_.content().size() + shape.size() > most_;
  auto known = shapes_.find(shape);
  if (known == shapes_.end()) {
    if (full) {
      ++dropped_;
      return;
    }
    scratch_.clear();
    scratch_.varint(shape_key);
    scratch_.varint(shapes_.size());
    scratch_.append(shape);
    if (!buffer_.append(scratch_.bytes())) {
      ++dropped_;
      return;
    }
    known = shapes_.emplace(shape, shapes_.size()).first;
    table_bytes_ += shape.size() + 64;
  }
  scratch_.clear();
  scratch_.varint(first_call_key + known->second);
  scratch_.varint(static_cast<std::uint64_t>(std::max<std::int64_t>(0, start_ns - last_start_ns_)));
  scratch_.varint(static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration_ns)));
  if (full || !buffer_.append(scratch_.bytes())) {
    ++dropped_;
    return;
  }
  last_start_ns_ = std::max(last_start_ns_, start_ns);
}

void Recorder::entry(std::string_view bytes) {
  if (!buffer_.append(bytes)) ++dropped_;
}

void Recorder::finish(std::int64_t now_ns) {
  scratch_.clear();
  scratch_.varint(end_key);
  scratch_.varint(static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ns)));
  scratch_.varint(dropped_);
  buffer_.append(scratch_.bytes());
}

void record_into(Recorder* recorder, double from_s) {
  const std::lock_guard lock(mutex);
  current = recorder;
  recorder_zero_s = from_s;
}

void record_definition(const std::string& bytes) {
  const std::lock_guard lock(mutex);
  if (current != nullptr) current->entry(bytes);
}

void record(const std::string& shape, double began_s, double ended_s) {
  const std::lock_guard lock(mutex);
  if (current == nullptr) return;
  current->call(shape, ns_since(recorder_zero_s, began_s), static_cast<std::int64_t>((ended_s - began_s) * 1e9));
}

std::int64_t ns_since(double from_s, double at_s) { return static_cast<std::int64_t>((at_s - from_s) * 1e9); }

}  // namespace antiphon::mpi::trace
