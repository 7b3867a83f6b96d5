// SPDX-License-Identifier: Apache-2.0
#include "compress/device_messages.hpp"

#include "job/devices.hpp"

namespace antiphon::mpi {

namespace {

std::size_t span_of(std::int64_t count, const TypeInfo& info) {
  return static_cast<std::size_t>((count - 1) * info.extent_bytes + info.true_extent_bytes);
}

}  // namespace

Buffer fetch_elements(const void* from, std::int64_t count, const TypeInfo& info) {
  const std::size_t span = span_of(count, info);
  Buffer copy(span);
  const auto* const first = static_cast<const std::byte*>(from) + info.true_lb_bytes;
  if (!copy_with_device(copy.data(), first, span)) copy.reset();
  return copy;
}

bool put_elements(void* to, std::int64_t count, const TypeInfo& info, const Buffer& copy) {
  return copy_with_device(static_cast<std::byte*>(to) + info.true_lb_bytes, copy.data(), span_of(count, info));
}

}  // namespace antiphon::mpi
