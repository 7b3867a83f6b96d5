// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "shm/header.hpp"
#include "shm/ring.hpp"
#include "shm/transfer.hpp"

namespace antiphon::shm {

/// The lengths of a message at both ends, which differ.
struct Lengths {
  std::size_t sent = 0;
  std::size_t awaited = 0;
};

/// Messages from another rank to this one.
class Incoming {
 public:
  Incoming() = default;
  Incoming(RingReader ring, pid_t process) : ring_(ring), process_(process) {}

  /// Returns false if the message is lost, as all functions that return bool.
  bool add(Transfer& transfer);
  /// Reads what has come as long as a transfer waits for something; the rest stays in the ring.
  bool advance();
  [[nodiscard]] bool idle() const { return awaited_.empty() && target_ == nullptr; }
  void forget_all();
  /// Says why a message is lost, if that is because the ranks do not agree on its length.
  [[nodiscard]] const std::optional<Lengths>& mismatch() const { return mismatch_; }

  bool listed = false;  ///< among those that the messenger advances

 private:
  /// A message that came before anything waited for it.
  struct Early {
    Header header;
    std::uint64_t address = 0;    ///< if it is lent
    std::vector<std::byte> data;  ///< else what has come
  };

  bool is_as_long(const Transfer& transfer, const Header& header);
  bool begin_message();
  bool read_part();
  bool fetch(Transfer& transfer, const Header& header, std::uint64_t address);
  bool take_early(Transfer& transfer, std::list<Early>::iterator early);

  RingReader ring_;
  pid_t process_ = 0;
  TransferQueue awaited_;
  std::list<Early> early_;
  std::optional<Lengths> mismatch_;
  bool inside_ = false;         ///< a message's header is read, and not all of its data
  Header header_;               ///< of that message, as all that follows
  std::size_t received_ = 0;    ///< bytes
  Transfer* target_ = nullptr;  ///< null: it goes to the last of the early ones
};

}  // namespace antiphon::shm
