// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "antiphon/error.hpp"

/// Reliable multicast over UDP, for collectives: one copy on the wire, every byte arrives (paper 1, section 4.1). No
/// MPI in here: what the members must tell each other to open a group is plain bytes, which the caller moves by
/// whatever it has.
///
///     auto mine = choose_address(addresses of all members, one's own index);   // after an all-gather of
///     local_addresses() Endpoint endpoint = Endpoint::open(mine);                                // then an all-gather
///     of endpoint.place() Description d = Description::create(places, options);                    // by one member,
///     broadcast as d.pack() Group group(Description::unpack(bytes), index, std::move(endpoint)); Ticket t = root ?
///     group.send(data) : group.receive(root_index, data); while (!group.done(t) && !group.failure()) group.progress();
///
/// docs/reference/multicast-packets.md has the packets, docs/concepts/multicast-transport.md the reasons.
namespace antiphon::multicast {

/// The network does not offer what is asked for (no interface, a socket refused); the message names the system's
/// reason.
class NetworkError : public Error {
 public:
  using Error::Error;
};

/// An address of a host, IPv4 or IPv6. Plain bytes: may be sent as it is between machines of any byte order.
struct Address {
  std::uint8_t family = 0;               ///< 4 or 6; 0: none
  std::uint8_t prefix_bits = 0;          ///< of the network it is in; 0 where it does not matter
  std::array<std::uint8_t, 2> port{};    ///< big-endian
  std::array<std::uint8_t, 16> bytes{};  ///< IPv4: the first four
  bool operator==(const Address&) const = default;
  [[nodiscard]] std::string text() const;  ///< "10.77.0.3:4321"
};
static_assert(sizeof(Address) == 20);

/// This host's addresses on interfaces that are up and can do multicast. `only`, if not empty, names an interface
/// ("eth0") or a network
/// ("10.77.0.0/16"). The loopback counts only when named, or when there is nothing else. At most `most`.
std::vector<Address> local_addresses(const std::string& only = {}, std::size_t most = 8);

/// Which of one's own addresses the others are reached from: the system is asked for its route to each address of each
/// other member (connect on UDP, then getsockname), and the address that most members are neighbours of on one network
/// wins. Throws NetworkError if there is no route to anyone. `all[i]`: what local_addresses gave on member i.
Address choose_address(std::span<const std::vector<Address>> all, int index);

/// Where a member is reached, and how much its socket holds. Plain bytes as Address.
struct Place {
  Address address;
  std::array<std::uint8_t, 4> receive_buffer{};  ///< big-endian: SO_RCVBUF in bytes, as the system gives it back
  bool operator==(const Place&) const = default;
};
static_assert(sizeof(Place) == 24);

/// A member's own socket: what it sends goes out here, and what is for it alone comes in here.
class Endpoint {
 public:
  /// Binds a free port of `address` and asks for a receive buffer of `receive_buffer_bytes` (the system may grant
  /// less).
  static Endpoint open(const Address& address, int receive_buffer_bytes = 4 << 20);
  Endpoint(Endpoint&&) noexcept;
  Endpoint& operator=(Endpoint&&) noexcept;
  ~Endpoint();
  [[nodiscard]] const Place& place() const { return place_; }
  /// Hands the socket over; the object is empty then.
  int release();

 private:
  Endpoint(int socket, const Place& place) : socket_(socket), place_(place) {}
  int socket_ = -1;
  Place place_;
};

/// How lost packets are found and sent again.
enum class Strategy : std::uint8_t {
  nack =
      0,  ///< receivers ask for what they miss; acknowledgements are gathered along a tree, and only move the window on
  ack = 1,  ///< paper 1's: every receiver acknowledges every packet to the sender, which sends again what is late. For
            ///< comparison
};

/// What all members of a group have alike. Times are bounds; within them the round trips measured decide.
struct Options {
  Strategy strategy = Strategy::nack;
  int packet_bytes = 1472;  ///< of UDP: fits an Ethernet frame. All headers come off this
  int window_packets =
      0;  ///< most packets of one sender that are not acknowledged by all; 0: by the smallest receive buffer
  int tree_arity = 4;                 ///< children of a node in the tree along which acknowledgements are gathered
  std::int64_t rate_bytes_per_s = 0;  ///< a sender sends no faster; 0: as fast as its window allows
  std::int64_t first_retry_ns = 1'000'000;  ///< before a round trip has been measured
  std::int64_t least_retry_ns = 100'000;
  std::int64_t most_retry_ns = 50'000'000;
  std::int64_t lost_after_ns = 6'000'000'000;  ///< a member that answers nothing for so long is lost
};

/// A group as its maker has drawn it up: members in order, group address, port, session and key. Whoever has it can
/// read and forge the group's packets, so it belongs on a channel that is trusted as much as the program's messages
/// are.
struct Description {
  std::vector<Place> members;
  Address
      group;  ///< administratively scoped (239.192.0.0/14 or 239.255.0.0/16; ff15::/16), drawn at random, with its port
  std::uint64_t session = 0;
  std::array<std::uint8_t, 32> key{};
  Options options;

  /// Draws address, port, session and key from the system's random source. Throws InvalidArgument: fewer than 2 or more
  /// than 65534 members, families mixed, options out of range.
  static Description create(std::span<const Place> members, const Options& options = {});
  [[nodiscard]] std::vector<std::byte> pack() const;
  /// Throws FormatError for what pack() did not write.
  static Description unpack(std::span<const std::byte> bytes);
  /// Throws InvalidArgument.
  void check() const;
};

/// What goes wrong on purpose between the socket and the protocol, for tests: each a probability per packet received.
struct Faults {
  std::uint64_t seed = 1;
  double loss = 0, duplicate = 0, corrupt = 0, reorder = 0, delay = 0;
  std::int64_t delay_ns = 1'000'000;  ///< a delayed packet comes up to so much later
  int reorder_depth = 4;              ///< a reordered packet is overtaken by up to so many
  [[nodiscard]] bool any() const { return loss > 0 || duplicate > 0 || corrupt > 0 || reorder > 0 || delay > 0; }
};

/// A member's own business: nobody else needs to have it alike.
struct LocalOptions {
  /// A thread of the process keeps the group moving (repairs, acknowledgements, signs of life) while the caller is
  /// elsewhere, computing or blocked in another call. Without it a member that does not call progress() for
  /// `lost_after_ns` is lost to the others.
  bool keeper = true;
  std::int64_t copy_bytes = 256 << 10;  ///< most bytes of sends that are copied and not yet acknowledged by all
  Faults faults;
};

/// One message of a group: the caller's receipt.
struct Ticket {
  std::int32_t sender = -1;
  std::uint32_t sequence = 0;  ///< of that sender, from 0
  bool operator==(const Ticket&) const = default;
};

/// A run of a message's bytes that is wanted, and where it goes.
struct Part {
  std::int64_t offset_bytes = 0;  ///< within the message
  std::span<std::byte> buffer;
};

struct SendOptions {
  /// The bytes are copied where there is room (LocalOptions::copy_bytes), and the send is done as soon as they are on
  /// their way: the caller needs not wait for the slowest member. Otherwise the bytes must stay as they are until it is
  /// done.
  bool copy = false;
  /// How many members send at about the same time: the window is shared out among them.
  int concurrent = 1;
  /// Most of this sender's packets under way, if not 0: what the ports of the switch between can hold, say.
  int window_packets = 0;
};

/// Why a group can no longer be used. It stays so.
struct Failure {
  enum class Kind : std::uint8_t {
    member_lost,    ///< `member` has not answered for Options::lost_after_ns, or another member says so
    size_mismatch,  ///< a message of `member` has another size than the receiver expects
    network,        ///< the system refused to send or receive
  };
  Kind kind = Kind::network;
  int member = -1;
  std::string text;  ///< what is wrong, where, and a hint
};

/// What has happened so far on this member.
struct Statistics {
  std::uint64_t packets_sent = 0, bytes_sent = 0;            ///< all of UDP, headers included
  std::uint64_t packets_received = 0, bytes_received = 0;    ///< with a right tag
  std::uint64_t data_sent = 0, data_received = 0;            ///< packets with new data
  std::uint64_t repairs_unicast = 0, repairs_multicast = 0;  ///< packets of data sent again
  std::uint64_t nacks_sent = 0, nacks_received = 0, nacks_suppressed = 0;
  std::uint64_t acks_sent = 0, acks_received = 0;
  std::uint64_t heartbeats_sent = 0, polls_sent = 0;
  std::uint64_t duplicates = 0;                     ///< data received that was there already
  std::uint64_t early_held = 0, early_refused = 0;  ///< data that came before its receive was posted
  std::uint64_t forged = 0;                         ///< the tag is wrong
  std::uint64_t replayed = 0;                       ///< the tag is right, and the packet has been here before
  std::uint64_t foreign = 0;                        ///< not of this group, or no packet of ours at all
  std::uint64_t malformed = 0;                      ///< the tag is right and the contents cannot be
  std::uint64_t socket_overflows = 0;  ///< packets that the system dropped for want of room in a socket, as it says
  std::uint64_t rejoined = 0;          ///< the group was joined anew, because nothing sent to all came
  std::uint64_t system_calls = 0;
  std::int64_t round_trip_ns = 0;  ///< smoothed; 0: none measured yet
};

/// What a receiver has seen of a run of raw packets (Group::probe).
struct ProbeCount {
  int sender = -1;
  std::uint32_t run = 0;
  std::uint32_t packets = 0;   ///< the sender says it sends so many
  std::uint32_t received = 0;  ///< different ones
  std::int64_t bytes = 0;
  std::int64_t first_ns = 0, last_ns = 0;  ///< by the steady clock of this host
};

/// A member's side of a group. All calls may come from any thread; none blocks but progress() with patience.
///
/// Messages need no names: the n-th send of a member is matched by the n-th receive that each other member posts for
/// it. So all members post, for each sender, the same messages in the same order; who wants nothing of one posts it
/// with no parts. Several messages of one sender, and several senders, may be under way at once.
///
/// The end: a member may destroy its group once drained() holds on all members, which the caller must know (a barrier
/// of its own after drained()); before that others may still need repairs or acknowledgements from it.
class Group {
 public:
  /// Joins. Throws NetworkError, InvalidArgument.
  Group(const Description& description, int index, Endpoint endpoint, const LocalOptions& local = {});
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Sends to all others; its first packets are on their way when this returns. Nothing is asked of the receivers
  /// before.
  Ticket send(std::span<const std::byte> bytes, const SendOptions& options = {});
  /// Posts the receive of `sender`'s next message, straight into `buffer`, which is exactly as long.
  Ticket receive(int sender, std::span<std::byte> buffer);
  /// The same of which only `parts` are wanted; the message has `message_bytes`. What is in no part is not waited for
  /// nor repaired.
  Ticket receive(int sender, std::int64_t message_bytes, std::span<const Part> parts);

  /// Does what there is to do. False if that was nothing. With patience: sleeps up to so long until a packet comes, if
  /// there is nothing.
  bool progress(std::int64_t patience_ns = 0);

  /// A receive: all its bytes are there. A send: all members have it (or it was copied), and the buffer is the caller's
  /// again.
  [[nodiscard]] bool done(const Ticket& ticket) const;
  /// Of a receive: how many bytes from the message's start are there (what is not wanted counts as there); at least
  /// all, once it is done.
  [[nodiscard]] std::int64_t ready_bytes(const Ticket& ticket) const;
  /// All that this member sent has been acknowledged by all, and all that it posted has come.
  [[nodiscard]] bool drained() const;
  /// Another number whenever something may have come to its end since; asks nobody, unlike done().
  [[nodiscard]] std::uint64_t changes() const;
  /// Set once the group can no longer be used; nothing more is done then. done() is of no use after.
  [[nodiscard]] std::optional<Failure> failure() const;

  [[nodiscard]] int index() const;
  [[nodiscard]] int size() const;
  /// The window in packets, and the bytes of a message in one packet.
  [[nodiscard]] int window_packets() const;
  [[nodiscard]] int payload_bytes() const;
  [[nodiscard]] Statistics statistics() const;

  /// Sends `packets` raw packets of `packet_bytes` (UDP payload) to all, unrepaired, at most at `rate_bytes_per_s` (0:
  /// as fast as can be); progress() sends them. Whether multicast gets through at all, how fast, and what is lost on
  /// the way. `run` tells runs apart.
  void probe(std::uint32_t run, std::uint32_t packets, int packet_bytes, std::int64_t rate_bytes_per_s = 0);
  [[nodiscard]] bool probe_sent() const;
  [[nodiscard]] std::vector<ProbeCount> probed(std::uint32_t run) const;

 private:
  class Implementation;
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace antiphon::multicast
