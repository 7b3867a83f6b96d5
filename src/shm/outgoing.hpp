// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "shm/header.hpp"
#include "shm/ring.hpp"
#include "shm/transfer.hpp"

namespace antiphon::shm {

/// Messages from this rank to another one.
class Outgoing {
 public:
  Outgoing() = default;
  Outgoing(RingWriter ring, std::size_t least_lent_bytes) : ring_(ring), least_lent_bytes_(least_lent_bytes) {}

  void add(Transfer& transfer) { queue_.push(transfer); }
  /// Writes what there is room for, and sees what has been fetched.
  void advance();
  [[nodiscard]] bool idle() const { return queue_.empty() && lent_ == 0; }
  void forget_all();

  bool listed = false;  ///< among those that the messenger advances

 private:
  using Lent = std::array<Transfer*, most_lent>;

  bool write_header(const Transfer& transfer);
  bool lend(Transfer& transfer);
  void note_fetched();

  RingWriter ring_;
  std::size_t least_lent_bytes_ = SIZE_MAX;
  TransferQueue queue_;
  bool begun_ = false;      ///< the first one's header is written
  std::size_t sent_ = 0;    ///< bytes of the first one
  std::uint64_t lent_ = 0;  ///< bit k: memory number k is lent
  std::unique_ptr<Lent> lent_transfers_;
};

}  // namespace antiphon::shm
