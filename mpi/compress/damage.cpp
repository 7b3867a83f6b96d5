// SPDX-License-Identifier: Apache-2.0
#include "compress/damage.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#include "job/error_text.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// Returns the communicator's name or, without one, its size.
std::string name_of(MPI_Comm comm) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  if (PMPI_Comm_get_name(comm, name.data(), &length) == MPI_SUCCESS && length > 0)
    return {name.data(), static_cast<std::size_t>(length)};
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return "a communicator of " + std::to_string(size) + " ranks";
}

}  // namespace

int damaged_frame(MPI_Comm comm, const std::string& channel, codec::Error error) {
  const std::string text =
      "a compressed message from " + channel + " on " + name_of(comm) + " could not be decoded: " + codec::text(error);
  warn(text);
  static ErrorText damaged(MPI_ERR_OTHER);
  return damaged.code("Antiphon: " + text);
}

void damage_for_test(std::span<std::byte> frame) {
  const std::int64_t every = world.settings.compress_damage;
  if (every <= 0) return;
  static std::atomic<std::int64_t> frames{0};
  constexpr std::uint64_t step = 7919;
  const std::int64_t number = ++frames;
  if (number % every != 0) return;
  const std::uint64_t bit = static_cast<std::uint64_t>(number) * step % (8 * frame.size());
  frame[bit / 8] ^= std::byte{1} << bit % 8;
}

}  // namespace antiphon::mpi
