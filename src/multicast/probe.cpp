// SPDX-License-Identifier: Apache-2.0
#include "multicast/probe.hpp"

namespace antiphon::multicast {

namespace {

constexpr std::uint32_t most_packets = 1 << 20;
/// At most so many (run, sender) pairs are kept, so that a faulty sender cannot fill the memory. A large group's trials
/// are 6 runs of each sender.
constexpr std::size_t most_runs = 4096, most_runs_each = 8;
constexpr std::size_t queue = 32;
constexpr std::size_t fixed_bytes = head_bytes + 12 + tag_bytes;

}  // namespace

void Probing::start(std::uint32_t run, std::uint32_t packets, int packet_bytes, std::int64_t rate_bytes_per_s) {
  if (packets > most_packets || packet_bytes < static_cast<int>(fixed_bytes) ||
      packet_bytes > core_.options().packet_bytes || rate_bytes_per_s < 0) {
    throw InvalidArgument("multicast probe: up to 1048576 packets, from " + std::to_string(fixed_bytes) +
                          " bytes to the group's packet_bytes");
  }
  unsent_.push_back({run, packets, 0, packet_bytes, rate_bytes_per_s, core_.now_ns});
}

bool Probing::send() {
  bool any = false;
  for (Run& run : unsent_) any = send(run) || any;
  std::erase_if(unsent_, [](const Run& run) { return run.next == run.packets; });
  return any;
}

bool Probing::send(Run& run) {
  bool any = false;
  while (run.next < run.packets && core_.courier.queued() < queue) {
    if (run.rate_bytes_per_s > 0 &&
        static_cast<double>(run.next) * run.packet_bytes * 1e9 >
            static_cast<double>(core_.now_ns - run.started_ns) * static_cast<double>(run.rate_bytes_per_s))
      break;
    const auto filler_bytes = static_cast<std::size_t>(run.packet_bytes) - fixed_bytes;
    core_.courier.post(-1, Type::probe, body(Probe{run.run, run.next++, run.packets}, filler_bytes));
    any = true;
  }
  return any;
}

void Probing::take(int sender, const Probe& probe, std::size_t packet_bytes) {
  if (probe.packets > most_packets || probe.index >= probe.packets) {
    ++core_.statistics.malformed;
    return;
  }
  const std::size_t most = std::max(most_runs, most_runs_each * static_cast<std::size_t>(core_.size));
  if (seen_.size() >= most && !seen_.contains({probe.run, sender})) return;
  Seen& seen = seen_[{probe.run, sender}];
  if (seen.which.empty()) {
    seen.which.resize(probe.packets);
    seen.count = {sender, probe.run, probe.packets, 0, 0, core_.read_ns(), core_.read_ns()};
  }
  if (probe.index >= seen.which.size() || seen.which[probe.index]) return;
  seen.which[probe.index] = true;
  ++seen.count.received;
  seen.count.bytes += static_cast<std::int64_t>(packet_bytes);
  seen.count.last_ns = core_.read_ns();
}

std::vector<ProbeCount> Probing::counts(std::uint32_t run) const {
  std::vector<ProbeCount> result;
  for (auto it = seen_.lower_bound({run, 0}); it != seen_.end() && it->first.first == run; ++it)
    result.push_back(it->second.count);
  return result;
}

}  // namespace antiphon::multicast
