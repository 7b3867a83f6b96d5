// SPDX-License-Identifier: Apache-2.0
#include "codecs/link/window.hpp"

#include <algorithm>
#include <cstring>

#include "codecs/frame/bytes.hpp"

namespace antiphon::codec {

namespace {

constexpr std::size_t max_spare = 16;
constexpr std::size_t min_slots = 16;

}  // namespace

std::uint16_t short_hash(ConstBytes message) {
  constexpr std::size_t words = 16;
  std::uint64_t hash = message.size();
  if (message.size() < 8) {
    for (const std::byte b : message) hash = hash * 257 + static_cast<std::uint64_t>(b);
  } else {
    const std::size_t last = message.size() - 8;
    for (std::size_t i = 0; i < words; ++i) {
      hash = (hash ^ load<std::uint64_t>(message.data() + last * i / (words - 1))) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    }
  }
  return static_cast<std::uint16_t>((hash * 0x9e3779b97f4a7c15ULL) >> 48);
}

const Window::Entry* Window::find(std::uint64_t number) const {
  if (number < begin_ || number >= end_) return nullptr;
  return &slots_[number & (slots_.size() - 1)];
}

Window::Entry& Window::slot(std::uint64_t number) {
  const std::uint64_t end = std::max(end_, number + 1);
  if (end - begin_ > slots_.size()) {
    std::size_t size = std::max(min_slots, slots_.size());
    while (size < end - begin_) size *= 2;
    std::vector<Entry> larger(size);
    for (std::uint64_t n = begin_; n < end_; ++n) larger[n & (size - 1)] = std::move(slots_[n & (slots_.size() - 1)]);
    slots_ = std::move(larger);
  }
  end_ = end;
  return slots_[number & (slots_.size() - 1)];
}

std::unique_ptr<std::uint8_t[]> Window::buffer(std::size_t bytes) {
  const auto fits = std::find_if(spare_.begin(), spare_.end(), [&](const auto& s) { return s.first == bytes; });
  if (fits == spare_.end()) return std::unique_ptr<std::uint8_t[]>(new std::uint8_t[bytes]);
  auto found = std::move(fits->second);
  spare_bytes_ -= bytes;
  *fits = std::move(spare_.back());
  spare_.pop_back();
  return found;
}

void Window::release(Entry& entry) {
  bytes_ -= entry.bytes;
  if (entry.data != nullptr) {
    spare_bytes_ += entry.bytes;
    spare_.emplace_back(entry.bytes, std::move(entry.data));
  }
  entry = {};
  while (!spare_.empty() && (spare_.size() > max_spare || 2 * spare_bytes_ > bytes_)) {
    spare_bytes_ -= spare_.front().first;
    spare_.erase(spare_.begin());
  }
}

void Window::keep(std::uint64_t number, ConstBytes message) {
  if (number < begin_) return;
  Entry& entry = slot(number);
  release(entry);
  entry.data = buffer(message.size());
  entry.bytes = message.size();
  bytes_ += message.size();
  std::memcpy(entry.data.get(), message.data(), message.size());
  entry.hash = short_hash(message);
  entry.usable = true;
}

void Window::mark_unusable(std::uint64_t number) {
  if (number >= begin_) release(slot(number));
}

void Window::drop_below(std::uint64_t number) {
  for (; begin_ < number && begin_ < end_; ++begin_) release(slots_[begin_ & (slots_.size() - 1)]);
  begin_ = std::max(begin_, number);
  end_ = std::max(end_, begin_);
}

}  // namespace antiphon::codec
