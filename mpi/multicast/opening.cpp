// SPDX-License-Identifier: Apache-2.0
#include "multicast/opening.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "antiphon/error.hpp"
#include "job/clock.hpp"
#include "job/progress.hpp"
#include "job/world.hpp"
#include "multicast/leaving.hpp"

namespace antiphon::mpi {

namespace {

/// Messages about groups have this tag; schedules and the credit protocol use others.
constexpr int opening_tag = 30010;
/// The trial packets of one length that each leader sends. A path may drop long ones alone.
struct TrialRun {
  std::uint32_t packets;
  int packet_bytes;
  std::int64_t rate_bytes_per_s;
};
/// The packets take 10 ms, in which a switch that learns slowly of a member still sees some. Those as long as data
/// packets come, from all leaders together, no faster than 100 Mb/s, unless they would take more than a quarter second.
std::array<TrialRun, 2> trial_runs(std::size_t leaders) {
  constexpr int data_bytes = multicast::Options{}.packet_bytes;
  const auto share = static_cast<std::int64_t>(12'500'000 / leaders);
  return {TrialRun{12, 128, 12 * 128 * 100},
          TrialRun{6, data_bytes, std::clamp<std::int64_t>(share, 6 * data_bytes * 4, 6 * data_bytes * 100)}};
}
constexpr double trial_patience_s = 0.5;
constexpr int trials = 3;
constexpr const char* short_ones_hint =
    " (a switch without an IGMP querier, a network that filters it, or another interface: "
    "ANTIPHON_MULTICAST_INTERFACE)";
constexpr const char* long_ones_hint = ", but in short ones (the network drops long packets: look at its MTU)";

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> bytes_of(std::uint64_t number) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&number);
  return {begin, begin + sizeof number};
}

std::uint64_t number_of(const std::vector<std::byte>& bytes) {
  std::uint64_t number = 0;
  if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// Returns a number that no other open group of any member has: the rank in MPI_COMM_WORLD of the coordinator, which
/// this process is, and its counter.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> count = 0;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return static_cast<std::uint64_t>(rank) << 32 | ++count;
}

/// Returns the packed description of a group of these places; followers have no place.
std::vector<std::byte> description_of(const std::vector<std::vector<std::byte>>& places_of_members) {
  std::vector<multicast::Place> places;
  for (const auto& bytes : places_of_members) {
    if (bytes.size() == sizeof(multicast::Place))
      std::memcpy(&places.emplace_back(), bytes.data(), sizeof(multicast::Place));
  }
  multicast::Options options;
  if (world.settings.multicast_strategy == "ack") options.strategy = multicast::Strategy::ack;
  options.lost_after_ns = world.settings.multicast_timeout_ms * 1'000'000;
  return multicast::Description::create(places, options).pack();
}

/// Runs a step if it is this rank's. What the step throws is this rank's objection; an empty text means none.
template <class Step>
std::string objection_of(bool is_mine, Step&& step) {
  if (!is_mine) return "";
  try {
    step();
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

bool MulticastOpening::coordinates() const { return members_.rank == roles_.members.front(); }

void MulticastOpening::send(const Bytes& bytes, int member) {
  failed_ = PMPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, member, opening_tag, members_.comm) !=
                MPI_SUCCESS ||
            failed_;
}

MulticastOpening::Bytes MulticastOpening::receive(int member) {
  MPI_Status status{};
  int count = 0;
  // MPICH's own PMPI_Probe keeps the core; where ranks share cores, each step of an opening would then wait for a turn
  // of every rank.
  for (int there = 0; there == 0 && !failed_;) {
    failed_ = PMPI_Iprobe(member, opening_tag, members_.comm, &there, &status) != MPI_SUCCESS;
    if (there == 0 && operations_under_way()) make_progress();
    if (there == 0) sched_yield();
  }
  if (failed_) return {};
  PMPI_Get_count(&status, MPI_BYTE, &count);
  Bytes bytes(static_cast<std::size_t>(count));
  failed_ =
      PMPI_Recv(bytes.data(), count, MPI_BYTE, member, opening_tag, members_.comm, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  return bytes;
}

std::vector<MulticastOpening::Bytes> MulticastOpening::gather(const Bytes& own) {
  if (!coordinates()) {
    send(own, roles_.members.front());
    return {};
  }
  std::vector<Bytes> all{own};
  for (std::size_t i = 1; i < roles_.members.size(); ++i) all.push_back(receive(roles_.members[i]));
  return all;
}

MulticastOpening::Bytes MulticastOpening::share(Bytes bytes) {
  if (!coordinates()) return receive(roles_.members.front());
  for (std::size_t i = 1; i < roles_.members.size(); ++i) send(bytes, roles_.members[i]);
  return bytes;
}

bool MulticastOpening::agree(const std::string& objection) {
  Bytes verdict;
  for (const Bytes& words : gather(bytes_of(objection))) {
    if (verdict.empty()) verdict = words;
  }
  verdict = share(std::move(verdict));
  if (failed_) verdict = bytes_of("MPI failed while its group was opened");
  if (verdict.empty()) return true;
  result_.reason = text_of(verdict);
  return false;
}

void MulticastOpening::barrier() { agree(""); }

MulticastOpening::Result MulticastOpening::run(bool heard) {
  go_on_leaving();
  if (make_room()) {
    result_.open = connect() && (heard || all_hear_all());
    result_.refused = !result_.open;  // without room there may be some another time
  }
  if (!result_.open) result_.transport.reset();
  return std::move(result_);
}

bool MulticastOpening::connect() {
  std::vector<std::vector<multicast::Address>> all;
  return gather_addresses(all) && join(all);
}

/// Network cards support few groups (paper 1, §4.1). While a member is at its limit, all close the group that it used
/// least recently of those whose members are all here, because ranks elsewhere cannot be asked.
bool MulticastOpening::make_room() {
  const int budget = world.settings.multicast_groups;
  for (std::vector<std::uint64_t> needed;;) {
    Bytes wish;
    if (!members_.group.take_place(budget))
      wish = bytes_of(multicast_table::oldest_within(members_.group.world_members(), needed));
    // All members receive 0 or 1 (whether some member has no place), the number of the group to close (0 for none), and
    // the new group's number.
    std::array<std::uint64_t, 3> order{};
    for (const Bytes& words : gather(wish)) {
      if (!words.empty()) order[0] = 1;
      if (order[1] == 0) order[1] = number_of(words);
    }
    if (coordinates()) order[2] = next_number();
    const auto* const begin = reinterpret_cast<const std::byte*>(order.data());
    const Bytes told = share({begin, begin + sizeof order});
    if (failed_ || told.size() != sizeof order) return false;
    std::memcpy(order.data(), told.data(), sizeof order);
    members_.group.set_number(order[2]);
    if (order[0] == 0) return true;
    if (order[1] == 0) {
      result_.reason = "the budget of " + std::to_string(budget) +
                       " groups is used up, and no group of these ranks can be closed (ANTIPHON_MULTICAST_GROUPS)";
      return false;
    }
    if (!close_other(order[1])) needed.push_back(order[1]);
  }
}

/// Closes the group of this number on all its members, which are here. Returns false if that cannot be now: a member is
/// in one of its runs, or before one that others have behind them. Otherwise nobody needs anything from another. A
/// member that is no longer in it has left because nobody will use it.
bool MulticastOpening::close_other(std::uint64_t number) {
  const auto group = multicast_table::find(number);
  const auto runs = group ? group->begin_closing() : std::nullopt;
  Bytes vote;
  if (group) vote = bytes_of(runs.value_or(0));
  Bytes common;
  bool agreed = true;
  for (const Bytes& words : gather(vote)) {
    if (words.empty()) continue;
    if (common.empty()) common = words;
    agreed = agreed && words == common && number_of(words) != 0;
  }
  agreed = !share(Bytes(agreed ? 1 : 0)).empty() && !failed_;
  if (!runs) return agreed;
  if (agreed) {
    group->close();
    multicast_table::evicted();
  } else {
    group->stay_open();
  }
  return agreed;
}

bool MulticastOpening::gather_addresses(std::vector<std::vector<multicast::Address>>& all) {
  Bytes own;
  std::string objection;
  if (roles_.leads) {
    try {
      const auto addresses = multicast::local_addresses(world.settings.multicast_interface);
      const auto* const begin = reinterpret_cast<const std::byte*>(addresses.data());
      own.assign(begin, begin + addresses.size() * sizeof(multicast::Address));
      if (addresses.empty()) objection = "a node has no interface for multicast";
    } catch (const std::exception& e) {
      objection = e.what();
    }
  }
  if (!agree(objection)) return false;
  // The message holds all leaders' addresses, each list after its length.
  Bytes packed;
  const auto given = gather(own);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto index = static_cast<std::size_t>(roles_.leader_of[i]);
    if (roles_.leaders[index] != roles_.members[i]) continue;
    packed.push_back(static_cast<std::byte>(given[i].size() / sizeof(multicast::Address)));
    packed.insert(packed.end(), given[i].begin(), given[i].end());
  }
  packed = share(std::move(packed));
  for (std::size_t at = 0; at < packed.size();) {
    const auto count = static_cast<std::size_t>(packed[at++]);
    auto& list = all.emplace_back(count);
    if (at + count * sizeof(multicast::Address) > packed.size()) return false;
    std::memcpy(list.data(), packed.data() + at, count * sizeof(multicast::Address));
    at += count * sizeof(multicast::Address);
  }
  return !failed_;
}

bool MulticastOpening::join(const std::vector<std::vector<multicast::Address>>& all) {
  std::optional<multicast::Endpoint> endpoint;
  Bytes place;
  const int index = roles_.leads ? roles_.leader_index(members_.rank) : -1;
  const std::string no_endpoint = objection_of(roles_.leads, [&] {
    endpoint = multicast::Endpoint::open(multicast::choose_address(all, index));
    const auto* const begin = reinterpret_cast<const std::byte*>(&endpoint->place());
    place.assign(begin, begin + sizeof(multicast::Place));
  });
  if (!agree(no_endpoint)) return false;
  const auto places = gather(place);
  Bytes packed;
  if (!agree(objection_of(coordinates(), [&] { packed = description_of(places); }))) return false;
  packed = share(std::move(packed));
  const std::string no_group = objection_of(roles_.leads, [&] {
    multicast::LocalOptions local;
    local.keeper = world.settings.multicast_keeper;
    local.faults.seed = world.settings.multicast_seed + static_cast<std::uint64_t>(index);
    local.faults.loss = world.settings.multicast_loss;
    result_.transport =
        std::make_unique<multicast::Group>(multicast::Description::unpack(packed), index, std::move(*endpoint), local);
  });
  if (agree(no_group)) return true;
  result_.transport.reset();
  return false;
}

std::string MulticastOpening::try_out(std::uint32_t trial) {
  if (!roles_.leads) return "";
  multicast::Group& group = *result_.transport;
  const std::size_t leaders = roles_.leaders.size();
  const auto runs = trial_runs(leaders);
  std::vector<bool> heard(runs.size() * leaders);  // by run and leader
  const auto name_of = [&](std::size_t run) { return static_cast<std::uint32_t>(runs.size() * trial + run); };
  for (std::size_t run = 0; run < runs.size(); ++run) {
    heard[run * leaders + static_cast<std::size_t>(group.index())] = true;
    group.probe(name_of(run), runs[run].packets, runs[run].packet_bytes, runs[run].rate_bytes_per_s);
  }
  const double give_up_s = now_s() + trial_patience_s;
  while (now_s() < give_up_s && !group.failure()) {
    group.progress(1'000'000);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      for (const multicast::ProbeCount& count : group.probed(name_of(run)))
        heard[run * leaders + static_cast<std::size_t>(count.sender)] = true;
    }
    if (group.probe_sent() && std::find(heard.begin(), heard.end(), false) == heard.end()) return "";
  }
  if (group.failure()) return group.failure()->text;
  const auto missing = static_cast<std::size_t>(std::find(heard.begin(), heard.end(), false) - heard.begin());
  const std::string what = "rank " + std::to_string(members_.rank) + " hears no multicast of rank " +
                           std::to_string(roles_.leaders[missing % leaders]);
  if (missing < leaders) return what + short_ones_hint;
  return what + " in packets of " + std::to_string(runs.back().packet_bytes) + " bytes" + long_ones_hint;
}

bool MulticastOpening::all_hear_all() {
  for (std::uint32_t trial = 1; trial <= trials; ++trial) {
    if (agree(try_out(trial))) return true;
  }
  return false;
}

}  // namespace antiphon::mpi
