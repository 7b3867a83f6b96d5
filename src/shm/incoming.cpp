// SPDX-License-Identifier: Apache-2.0
#include "shm/incoming.hpp"

#include <algorithm>
#include <cstring>

#include "shm/process.hpp"

namespace antiphon::shm {

bool Incoming::add(Transfer& transfer) {
  const auto early =
      std::find_if(early_.begin(), early_.end(), [&](const Early& one) { return one.header.tag == transfer.tag; });
  if (early != early_.end()) return take_early(transfer, early);
  awaited_.push(transfer);
  return true;
}

bool Incoming::is_as_long(const Transfer& transfer, const Header& header) {
  if (header.bytes == transfer.bytes) return true;
  mismatch_ = {header.bytes, transfer.bytes};
  return false;
}

bool Incoming::take_early(Transfer& transfer, std::list<Early>::iterator early) {
  const Header header = early->header;
  if (!is_as_long(transfer, header)) return false;
  bool complete = true;
  if (header.lent != Header::copied) {
    if (!fetch(transfer, header, early->address)) return false;
  } else {
    if (!early->data.empty()) std::memcpy(transfer.at, early->data.data(), early->data.size());
    complete = early->data.size() == header.bytes;
  }
  // What is still coming goes to the transfer from here on.
  if (!complete) target_ = &transfer;
  early_.erase(early);
  if (complete) transfer.done.store(true, std::memory_order_release);
  return true;
}

bool Incoming::fetch(Transfer& transfer, const Header& header, std::uint64_t address) {
  if (!read_memory(process_, address, transfer.at, header.bytes)) return false;
  ring_.note_fetched(header.lent);
  return true;
}

/// Reads a header, and finds out who waits for the message.
bool Incoming::begin_message() {
  ring_.read(&header_, sizeof header_);
  received_ = 0;
  target_ = awaited_.take(header_.tag);
  if (target_ != nullptr && !is_as_long(*target_, header_)) return false;
  if (header_.lent == Header::copied) {
    inside_ = true;
    if (target_ == nullptr) early_.push_back({header_, 0, {}});
    return true;
  }
  std::uint64_t address = 0;
  ring_.read(&address, sizeof address);
  ring_.release();
  if (target_ == nullptr) {
    early_.push_back({header_, address, {}});
    return true;
  }
  if (!fetch(*target_, header_, address)) return false;
  target_->done.store(true, std::memory_order_release);
  target_ = nullptr;
  return true;
}

/// Reads a part of the message that is coming in. Returns whether that was all that is missing or a full part.
bool Incoming::read_part() {
  const std::size_t left = header_.bytes - received_;
  const std::size_t wanted = std::min(left, part_bytes);
  const std::size_t part = std::min(wanted, ring_.available(wanted));
  if (target_ != nullptr) {
    ring_.read(target_->at + received_, part);
  } else {
    std::vector<std::byte>& data = early_.back().data;
    data.resize(received_ + part);
    ring_.read(data.data() + received_, part);
  }
  ring_.release();
  received_ += part;
  if (received_ < header_.bytes) return part > 0;
  inside_ = false;
  if (target_ != nullptr) target_->done.store(true, std::memory_order_release);
  target_ = nullptr;
  return true;
}

bool Incoming::advance() {
  while (!idle()) {
    if (!inside_) {
      if (ring_.available(sizeof(Header)) < sizeof(Header)) return true;
      if (!begin_message()) return false;
    }
    if (inside_ && !read_part()) return true;
  }
  return true;
}

void Incoming::forget_all() {
  awaited_.clear();
  target_ = nullptr;
}

}  // namespace antiphon::shm
