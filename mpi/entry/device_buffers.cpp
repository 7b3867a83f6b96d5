// SPDX-License-Identifier: Apache-2.0
#include "entry/device_buffers.hpp"

#include <algorithm>

#include "job/devices.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

struct Span {
  std::int64_t low = 0, high = 0;
  bool empty = true;

  void add(std::int64_t from, std::int64_t to) {
    low = empty ? from : std::min(low, from);
    high = empty ? to : std::max(high, to);
    empty = false;
  }
  /// Adds `count` elements that begin `at` bytes from the buffer's address.
  void add(std::int64_t at, std::int64_t count, const TypeInfo& info) {
    if (count <= 0) return;
    for (const std::int64_t element : {std::int64_t{0}, count - 1}) {
      const std::int64_t from = at + element * info.extent_bytes + info.true_lb_bytes;
      add(from, from + info.true_extent_bytes);
    }
  }
};

/// Returns where a side's data lies.
Span span_of(const Description& d, const Side& side, bool is_output) {
  Span span;
  const bool scatters = d.collective == Collective::reduce_scatter || d.collective == Collective::reduce_scatter_block;
  if (scatters && is_output && !d.in_place) {
    span.add(0, side.block_count(d.rank), side.info);
  } else if (is_reduction(d.collective)) {
    span.add(0, side.total_bytes() / std::max<std::int64_t>(1, side.info.size_bytes), side.info);
  } else {
    for (std::int64_t i = 0; i < side.blocks; ++i) {
      if (side.block_count(i) > 0) span.add(side.offset_bytes(i), side.block_count(i), side.block_info(i));
    }
  }
  return span;
}

}  // namespace

DeviceBuffers::DeviceBuffers(Description& d) : d_(d) {
  if (!d.schedulable || d.collective == Collective::barrier) return;
  if (d.output.used) note(d.output, true);
  if (d.input.used) note(d.input, false);
}

void DeviceBuffers::note(Side& side, bool is_output) {
  const Span span = span_of(d_, side, is_output);
  if (span.empty || !is_device_memory(side.buffer + span.low)) return;
  copies_[is_output ? 0 : 1] = {&side, side.buffer, span.low, span.high, nullptr};
  on_device_ = true;
}

int DeviceBuffers::fetch() {
  if (!on_device_) return MPI_SUCCESS;
  auto& [out, in] = copies_;
  // What is in place has one copy.
  if (in.side != nullptr && out.original == in.original) {
    out.low_bytes = in.low_bytes = std::min(in.low_bytes, out.low_bytes);
    out.high_bytes = in.high_bytes = std::max(in.high_bytes, out.high_bytes);
  }
  bool copied = true;
  for (Copy& copy : copies_) {
    if (copy.side == nullptr) continue;
    const auto bytes = static_cast<std::size_t>(copy.high_bytes - copy.low_bytes);
    if (&copy == &in && out.original == in.original) {
      copy.memory = out.memory;
    } else {
      copy.memory = std::make_unique<std::byte[]>(bytes);
      copied = copy_with_device(copy.memory.get(), copy.original + copy.low_bytes, bytes) && copied;
    }
    copy.side->buffer = copy.memory.get() - copy.low_bytes;
  }
  return copied ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int DeviceBuffers::put_back() {
  if (!on_device_) return MPI_SUCCESS;
  const Copy& out = copies_[0];
  bool copied = true;
  if (out.side != nullptr && out.memory != nullptr) {
    const auto bytes = static_cast<std::size_t>(out.high_bytes - out.low_bytes);
    copied = copy_with_device(out.original + out.low_bytes, out.memory.get(), bytes);
  }
  for (const Copy& copy : copies_) {
    if (copy.side != nullptr) copy.side->buffer = copy.original;
  }
  return copied ? MPI_SUCCESS : MPI_ERR_OTHER;
}

bool DeviceAgreement::leaves(Collective collective, bool here, const LibraryCollectives& library) {
  if (collective == Collective::barrier) return false;
  State& state = of_[static_cast<std::size_t>(collective)];
  state.seen = state.seen || here;
  if (++state.calls == state.next) {
    state.leaves = any_rank_has(state.seen, library);
    state.next *= 2;
    state.seen = false;
  }
  return state.leaves;
}

bool any_rank_has(bool here, const LibraryCollectives& library) {
  int some = here ? 1 : 0;
  return library.greatest({&some, 1}) == MPI_SUCCESS && some != 0;
}

}  // namespace antiphon::mpi
