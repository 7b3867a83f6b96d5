// SPDX-License-Identifier: Apache-2.0
// Measures rate and latency of the reliable multicast alone, without MPI. Each member is one process:
//   antiphon-multicast --index I --size N --first ADDRESS:PORT [--bytes 1024,65536] [--repeat R]
//                      [--mode rate|latency|allgather|probe] [--strategy nack|ack] [--senders K]
//                      [--rate BYTES_PER_S] [--window PACKETS] [--copy] [--hash] [--thread] [--share PACKETS]
//                      [--interface NAME]
// Member 0 prints one JSON line per measurement. `latency` compares the clocks of all members, so they must run on one
// host (the lab). --thread leaves all work in it to the keeper. --share limits each sender's packets in transit in
// `allgather`.
#include <sched.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "antiphon/multicast.hpp"
#include "meeting.hpp"
#include "multicast/seal.hpp"

using namespace antiphon::multicast;

namespace {

using Bytes = std::vector<std::byte>;

struct Settings {
  int index = 0, size = 0, repeat = 20, senders = 1;
  std::string first, mode = "rate", interface;
  std::vector<std::int64_t> bytes = {1024, 65536};
  bool copy = false, thread = false;
  int share = 0;
  Options options;
};

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

using Values = std::map<std::string, std::string>;

/// Reads the options by name; those without a value get "1".
Values values_of(int count, char** words) {
  Values values;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--copy" || word == "--hash" || word == "--thread") {
      values[word] = "1";
    } else if (word.rfind("--", 0) == 0 && i + 1 < count) {
      values[word] = words[++i];
    } else {
      throw std::runtime_error("no such option: " + word);
    }
  }
  return values;
}

Settings parse(int count, char** words) {
  Settings s;
  Values values = values_of(count, words);
  const auto take = [&](const char* name, auto use) {
    const auto found = values.find(name);
    if (found == values.end()) return;
    use(found->second);
    values.erase(found);
  };
  take("--index", [&](const std::string& v) { s.index = std::stoi(v); });
  take("--size", [&](const std::string& v) { s.size = std::stoi(v); });
  take("--first", [&](const std::string& v) { s.first = v; });
  take("--mode", [&](const std::string& v) { s.mode = v; });
  take("--interface", [&](const std::string& v) { s.interface = v; });
  take("--repeat", [&](const std::string& v) { s.repeat = std::stoi(v); });
  take("--senders", [&](const std::string& v) { s.senders = std::stoi(v); });
  take("--rate", [&](const std::string& v) { s.options.rate_bytes_per_s = std::stoll(v); });
  take("--window", [&](const std::string& v) { s.options.window_packets = std::stoi(v); });
  take("--strategy", [&](const std::string& v) { s.options.strategy = v == "ack" ? Strategy::ack : Strategy::nack; });
  take("--copy", [&](const std::string&) { s.copy = true; });
  take("--thread", [&](const std::string&) { s.thread = true; });
  take("--share", [&](const std::string& v) { s.share = std::stoi(v); });
  take("--hash", [&](const std::string&) { s.mode = "hash"; });
  take("--bytes", [&](const std::string& v) {
    s.bytes.clear();
    for (std::size_t at = 0; at < v.size(); at = std::min(v.find(',', at), v.size() - 1) + 1)
      s.bytes.push_back(std::stoll(v.substr(at)));
  });
  if (!values.empty()) throw std::runtime_error("no such option: " + values.begin()->first);
  if (s.mode != "hash" && (s.size < 2 || s.first.empty()))
    throw std::runtime_error("--index, --size and --first are needed");
  return s;
}

/// Prints the nanoseconds to seal one full packet, for each instruction set of this processor.
int measure_hash() {
  Key key{1, 2, 3, 4};
  Bytes packet(1464);
  std::uint64_t sum = 0;
  for (const auto function : Seal::functions()) {
    std::int64_t best = std::int64_t{1} << 60;
    for (int turn = 0; turn < 50; ++turn) {
      const std::int64_t begin = now_ns();
      for (int i = 0; i < 1000; ++i) {
        packet[0] = static_cast<std::byte>(i);
        sum ^= function(key, std::span(packet).first(48), std::span(packet).subspan(48));
      }
      best = std::min(best, now_ns() - begin);
    }
    std::printf("{\"seal_ns\": %.1f, \"packet_bytes\": 1464}\n", static_cast<double>(best) / 1000);
  }
  return sum == 0 ? 1 : 0;
}

std::byte byte_of(int sender, int message, std::size_t i) {
  return static_cast<std::byte>(static_cast<std::size_t>(sender * 31 + message * 7) + i * 13 + (i >> 8));
}

class Bench {
 public:
  explicit Bench(const Settings& s) : s_(s), meeting_(s.index, s.size, s.first) {
    std::array<Address, 8> own{};
    const auto addresses = local_addresses(s.interface, own.size());
    std::copy(addresses.begin(), addresses.end(), own.begin());
    std::vector<std::vector<Address>> all;
    for (const auto& member : meeting_.gather(own)) {
      all.emplace_back();
      for (const Address& address : member) {
        if (address.family != 0) all.back().push_back(address);
      }
    }
    Endpoint endpoint = Endpoint::open(choose_address(all, s.index));
    const auto places = meeting_.gather(endpoint.place());
    Bytes packed = Description::create(places, s.options).pack();  // each member makes one; the first member's is used
    const Description description = Description::unpack(meeting_.gather(std::span<const std::byte>(packed))[0]);
    group_ = std::make_unique<Group>(description, s.index, std::move(endpoint));
    meeting_.barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // switches need time to learn the members
  }

  int run() {
    for (const std::int64_t bytes : s_.bytes) {
      if (s_.mode == "rate") rate(bytes);
      if (s_.mode == "latency") latency(bytes);
      if (s_.mode == "allgather") allgather(bytes);
      if (s_.mode == "probe") probe(static_cast<int>(bytes));
    }
    while (!group_->drained()) step();
    meeting_.barrier();
    return 0;
  }

 private:
  void step() {
    if (!group_->progress()) ::sched_yield();
    if (const auto failure = group_->failure()) throw std::runtime_error(failure->text);
  }
  void wait(const Ticket& ticket) {
    while (!group_->done(ticket)) s_.thread ? std::this_thread::sleep_for(std::chrono::microseconds(10)) : step();
  }
  Bytes message(std::int64_t bytes, int sender, int number) const {
    Bytes data(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = byte_of(sender, number, i);
    return data;
  }
  void check(const Bytes& got, int sender, int number) {
    for (std::size_t i = 0; i < got.size(); ++i) wrong_ += got[i] != byte_of(sender, number, i);
  }

  /// Sends messages of member 0 one after the other; reports the slowest member's time.
  void rate(std::int64_t bytes) {
    const Bytes data = message(bytes, 0, 1);
    Bytes buffer(data.size());
    const Statistics before = group_->statistics();
    meeting_.barrier();
    const std::int64_t begin = now_ns();
    for (int i = 0; i < s_.repeat; ++i)
      wait(s_.index == 0 ? group_->send(data, {.copy = s_.copy}) : group_->receive(0, buffer));
    report("rate", bytes, now_ns() - begin, before, buffer, data);
  }

  void report(const char* mode, std::int64_t bytes, std::int64_t own_ns, const Statistics& before, const Bytes& buffer,
              const Bytes& data) {
    if (s_.index != 0 && !buffer.empty()) wrong_ += buffer != data;
    const Statistics after = group_->statistics();
    struct Row {
      std::int64_t ns;
      std::uint64_t wrong, nacks, repairs_unicast, repairs_multicast, overflows, duplicates, acks;
    };
    const auto rows = meeting_.gather(
        Row{own_ns, wrong_, after.nacks_sent - before.nacks_sent, after.repairs_unicast - before.repairs_unicast,
            after.repairs_multicast - before.repairs_multicast, after.socket_overflows - before.socket_overflows,
            after.duplicates - before.duplicates, after.acks_sent - before.acks_sent});
    if (s_.index != 0) return;
    Row sum{};
    for (const Row& row : rows) {
      sum.ns = std::max(sum.ns, row.ns);
      sum.wrong += row.wrong;
      sum.nacks += row.nacks;
      sum.repairs_unicast += row.repairs_unicast;
      sum.repairs_multicast += row.repairs_multicast;
      sum.overflows += row.overflows;
      sum.duplicates += row.duplicates;
      sum.acks += row.acks;
    }
    const double each_ms = static_cast<double>(sum.ns) / 1e6 / s_.repeat;
    std::printf(
        "{\"mode\": \"%s\", \"members\": %d, \"bytes\": %lld, \"repeat\": %d, \"ms\": %.4f, \"mb_per_s\": %.2f, "
        "\"wrong\": %llu, \"nacks\": %llu, "
        "\"repairs_unicast\": %llu, \"repairs_multicast\": %llu, \"overflows\": %llu, \"duplicates\": %llu, \"acks\": "
        "%llu, \"window\": %d}\n",
        mode, s_.size, static_cast<long long>(bytes), s_.repeat, each_ms, static_cast<double>(bytes) / each_ms / 1e3,
        static_cast<unsigned long long>(sum.wrong), static_cast<unsigned long long>(sum.nacks),
        static_cast<unsigned long long>(sum.repairs_unicast), static_cast<unsigned long long>(sum.repairs_multicast),
        static_cast<unsigned long long>(sum.overflows), static_cast<unsigned long long>(sum.duplicates),
        static_cast<unsigned long long>(sum.acks), group_->window_packets());
    std::fflush(stdout);
  }

  /// Each operation begins at an agreed time. Reports the median time until the last member has all bytes.
  void latency(std::int64_t bytes) {
    const std::int64_t apart_ns = 5'000'000 + bytes * 400;
    const std::int64_t begin = meeting_.gather(now_ns())[0] + 20'000'000;
    const Statistics before = group_->statistics();
    std::vector<std::int64_t> own;
    std::vector<Bytes> data;     // moving a vector does not move its bytes
    std::vector<Ticket> posted;  // posted early, so that the keeper thread does not wait for its owner
    for (int i = 0; i < s_.repeat; ++i) {
      data.push_back(s_.index == 0 ? message(bytes, 0, i) : Bytes(static_cast<std::size_t>(bytes)));
      if (s_.index != 0 && s_.thread) posted.push_back(group_->receive(0, data.back()));
    }
    for (int i = 0; i < s_.repeat; ++i) {
      const std::int64_t start = begin + i * apart_ns;
      const auto n = static_cast<std::size_t>(i);
      while (now_ns() < start) s_.thread ? std::this_thread::sleep_for(std::chrono::microseconds(10)) : step();
      wait(s_.index == 0 ? group_->send(data[n], {.copy = true}) : s_.thread ? posted[n] : group_->receive(0, data[n]));
      own.push_back(now_ns() - start);
      if (s_.index != 0) check(data[n], 0, i);
    }
    std::vector<std::int64_t> slowest(own.size(), 0);
    for (const auto& member : meeting_.gather(std::span<const std::byte>(std::as_bytes(std::span(own))))) {
      for (std::size_t i = 0; i < slowest.size(); ++i) {
        std::int64_t value = 0;
        std::memcpy(&value, member.data() + i * sizeof value, sizeof value);
        slowest[i] = std::max(slowest[i], value);
      }
    }
    std::sort(slowest.begin(), slowest.end());
    report(s_.thread ? "latency, thread" : "latency", bytes, slowest[slowest.size() / 2] * s_.repeat, before, {}, {});
  }

  /// Sends everyone's block to everyone, `senders` at a time.
  void allgather(std::int64_t bytes) {
    const Statistics before = group_->statistics();
    std::vector<Bytes> blocks(static_cast<std::size_t>(s_.size), Bytes(static_cast<std::size_t>(bytes)));
    blocks[static_cast<std::size_t>(s_.index)] = message(bytes, s_.index, 0);
    meeting_.barrier();
    const std::int64_t begin = now_ns();
    for (int i = 0; i < s_.repeat; ++i) {
      std::vector<Ticket> tickets;
      for (int sender = 0; sender < s_.size; ++sender) {
        auto& block = blocks[static_cast<std::size_t>(sender)];
        if (sender != s_.index) tickets.push_back(group_->receive(sender, block));
      }
      // The member K positions before this one must have finished.
      for (int before_me = s_.index - s_.senders; before_me >= 0; before_me -= s_.senders)
        wait(tickets[static_cast<std::size_t>(before_me)]);
      tickets.push_back(group_->send(blocks[static_cast<std::size_t>(s_.index)],
                                     {.copy = s_.copy, .concurrent = s_.senders, .window_packets = s_.share}));
      for (const Ticket& ticket : tickets) wait(ticket);
    }
    const std::int64_t own_ns = now_ns() - begin;
    for (int sender = 0; sender < s_.size; ++sender) check(blocks[static_cast<std::size_t>(sender)], sender, 0);
    report("allgather", bytes, own_ns, before, {}, {});
  }

  /// Sends raw packets from every member in turn; reports how many of them the worst receiver has seen.
  void probe(int packet_bytes) {
    for (int sender = 0; sender < s_.size; ++sender) {
      const auto run = static_cast<std::uint32_t>(sender + 1);
      meeting_.barrier();
      if (s_.index == sender)
        group_->probe(run, static_cast<std::uint32_t>(s_.repeat), packet_bytes, s_.options.rate_bytes_per_s);
      const std::int64_t end = now_ns() + 300'000'000 + static_cast<std::int64_t>(s_.repeat) * packet_bytes * 100;
      while (now_ns() < end) step();
      const auto counts = group_->probed(run);
      const auto rows = meeting_.gather(counts.empty() ? ProbeCount{} : counts[0]);
      if (s_.index != 0) continue;
      std::uint32_t least = ~0U;
      double slowest = 0;
      for (int i = 0; i < s_.size; ++i) {
        const ProbeCount& row = rows[static_cast<std::size_t>(i)];
        if (i == sender) continue;
        least = std::min(least, row.received);
        slowest = std::max(slowest, static_cast<double>(row.last_ns - row.first_ns) / 1e6);
      }
      std::printf(
          "{\"mode\": \"probe\", \"sender\": %d, \"packets\": %d, \"packet_bytes\": %d, \"least_received\": %u, "
          "\"ms\": %.3f}\n",
          sender, s_.repeat, packet_bytes, least, slowest);
    }
  }

  Settings s_;
  Meeting meeting_;
  std::unique_ptr<Group> group_;
  std::uint64_t wrong_ = 0;
};

}  // namespace

int main(int count, char** words) {
  try {
    const Settings settings = parse(count, words);
    return settings.mode == "hash" ? measure_hash() : Bench(settings).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
